#include "service/rtsp/connection.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "service/rtsp/config.h"
#include "service/rtsp/service.h"
#include "service/session_figures.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kWriteTimeoutMs = 10'000;
constexpr int64_t kLingerMs = 1'000;  // the time a refused peer has to read the reason
// How often a publisher's time limits are checked; by UDP also packets that do not come.
constexpr int64_t kTickMs = 500, kUdpTickMs = 50;
constexpr size_t kStackBytes = 64 * 1024;
constexpr ::rtsp::Limits kLimits{};

}  // namespace

void Connection::Embryonic::evict() {
    connection_.not_a_connection();
    connection_.close("the server is full: it made room for another connection", CloseReason::kRefusedLimit);
}

Connection::Connection(Service& service, std::unique_ptr<runtime::ByteStream> socket,
                       std::shared_ptr<runtime::TlsContext> tls)
    : net::Session(service.sessions(), runtime::new_context_id(), socket->peer_ip()),
      service_(service),
      work_(std::make_unique<Work>(*this)),
      reader_(kLimits),
      session_timeout_s_(service.snapshot()->get<ServerConfig>().session_timeout) {
    work_->socket = std::move(socket);
    work_->tls = std::move(tls);
}

Connection::~Connection() {
    for (size_t track = 0; track < ::rtsp::ServerSession::kMaxTracks; ++track) release_ports(track);
}

bool Connection::start() {
    service_.sessions().admission().embryonic().add(work_->embryonic, base::monotonic_ms());
    work_->task = runtime::spawn("rtsp", [this] { run(); }, {.stack_bytes = kStackBytes});
    return static_cast<bool>(work_->task);
}

// The top function of its coroutine, which ends when the connection is parked or has ended.
void Connection::run() {
    runtime::set_context_id(id());
    auto served = serve();
    if (viewer_) return;
    if (!served) {
        end(served.error());
    } else {
        finish(work_->end_reason, CloseReason::kUnknown);
    }
    service_.remove(*this);
}

// Answers requests until it plays or ends.
Result<void> Connection::serve() {
    restart_timeout();
    if (work_->tls)
        work_->socket =
            TRY(runtime::tls_accept(std::move(work_->socket), work_->tls, work_->deadline), "TLS handshake");
    base::log::trace("RTSP connection from {}{}", work_->socket->peer_address(), work_->tls ? ", TLS" : "");
    while (!viewer_ && work_->end_reason.empty()) {
        TRY(read_once());
        if (publisher_) TRY(tick_publisher());
    }
    return {};
}

Result<void> Connection::read_once() {
    // Reports and missing packets do not wait for the connection.
    const auto tick = Deadline::in_ms(claimed_ ? kUdpTickMs : kTickMs);
    if (!publisher_) work_->socket->acknowledge_soon();
    auto read = runtime::read_shared(*work_->socket, publisher_ ? tick : work_->deadline);
    if (!read && read.error().code() == Code::kTimeout) {
        if (publisher_) return {};
        return std::unexpected(timed_out());
    }
    auto bytes = TRY(std::move(read));
    if (bytes.empty()) return base::fail(Code::kClosed, "closed by the peer");
    const uint64_t before = std::exchange(received_bytes_, received_bytes_ + bytes.size());
    if (publisher_) {
        TRY(take_recorded(bytes));
        return (before ^ received_bytes_) / net::InputMemory::kFree ? count_memory() : Result<void>();
    }
    work_->input.assign(bytes.begin(), bytes.end());
    return take_input();
}

// Processes work_->input. A request may yield.
Result<void> Connection::take_input() {
    std::span<const uint8_t> rest = work_->input;
    while (work_->end_reason.empty()) {
        size_t used = 0;
        const auto step = reader_.feed(rest, used);
        rest = rest.subspan(used);
        if (step == ::rtsp::Reader::Step::kNeedMore) return {};
        if (step == ::rtsp::Reader::Step::kInterleaved) continue;  // before RECORD
        if (step == ::rtsp::Reader::Step::kError) {
            Message refused;
            refused.is_request = false;
            refused.status = reader_.error_status();
            (void)send(::rtsp::write(refused));
            (void)work_->socket->finish(Deadline::in_ms(kLingerMs));
            return base::fail(Code::kProtocol, std::string(reader_.error_text()));
        }
        const Message request = reader_.take_message();
        restart_timeout();
        const bool is_first = std::exchange(work_->is_first, false);
        if (!request.is_request) continue;
        if (request.is_http && is_first) return begin_tunnel(request, rest);
        const Message response = respond(request);
        if (session_.state() == ::rtsp::ServerSession::State::kPlaying) {
            const std::vector<uint8_t> early(rest.begin(), rest.end());
            park(response);
            if (viewer_->joined() && !early.empty()) on_viewer_input(*viewer_, early);
            return {};
        }
        TRY(send(::rtsp::write(response)), "writing");
        if (publisher_) return take_recorded(rest);
    }
    if (work_->end_reason.empty()) return {};
    (void)work_->socket->finish(Deadline::in_ms(kLingerMs));
    return {};
}

void Connection::on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) {
    if (rtcp) heard_ms_ = now_us / 1000;
    if (rtcp && viewer_ && lost_) on_player_report(track, bytes);
    if (!publisher_ || session_.state() != ::rtsp::ServerSession::State::kRecording) return;
    runtime::ContextScope scope(id());
    const uint64_t before = std::exchange(received_bytes_, received_bytes_ + bytes.size());
    on_media(track, rtcp, bytes, now_us);
    if ((before ^ received_bytes_) / net::InputMemory::kFree == 0) return;
    if (auto counted = count_memory(); !counted) close(counted.error().text(), CloseReason::kFlood);
}

// A GET waits for its POST and goes on with both connections; a POST gives its connection away and ends.
Result<void> Connection::begin_tunnel(const Message& request, std::span<const uint8_t> rest) {
    const std::string cookie(request.headers.get("x-sessioncookie"));
    Message response;
    response.is_request = false;
    response.is_http = true;
    response.status = 200;
    if (cookie.empty() || cookie.size() > Tunnels::kMaxCookie) {
        response.status = 400;
    } else if (request.method == ::rtsp::Method::kPost) {
        Tunnels::Half half{nullptr, {rest.begin(), rest.end()}};
        std::swap(half.socket, work_->socket);
        if (service_.tunnels().join(ip(), cookie, half)) {
            not_a_connection();  // the tunnel counts
            will_end("joined a tunnel", CloseReason::kDone);
            return {};
        }
        std::swap(half.socket, work_->socket);
        response.status = 404;
    }
    response.headers.add("Server", service_.signature());
    response.headers.add("Connection", "close");
    response.headers.add("Cache-Control", "no-store");
    if (response.status == 200) response.headers.add("Content-Type", "application/x-rtsp-tunnelled");
    TRY(send(::rtsp::write(response)), "writing");
    if (response.status != 200) {
        (void)work_->socket->finish(Deadline::in_ms(kLingerMs));
        return base::fail(Code::kProtocol, response.status == 404 ? "the POST of a tunnel without its GET"
                                                                  : "an HTTP request without x-sessioncookie");
    }
    auto half = TRY(service_.tunnels().wait(ip(), cookie));
    auto address = base::IpAddress::parse(ip());
    net::Admission::Ticket ticket;
    if (address) ticket = net::Admission::Ticket(service_.sessions().admission(), *address);
    work_->socket = std::make_unique<TunnelStream>(std::move(work_->socket), std::move(half.socket),
                                                   std::move(half.early), std::move(ticket));
    work_->tunnelled = true;
    restart_timeout();
    return {};
}

Result<void> Connection::send(std::string_view bytes) {
    sent_bytes_ += bytes.size();
    return work_->socket->write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                Deadline::in_ms(kWriteTimeoutMs));
}

void Connection::end(const base::Error& error) {
    set_close_reason(error.close_reason());
    if (!work_->end_reason.empty()) return finish(work_->end_reason, CloseReason::kUnknown);
    finish(error.code() == Code::kCancelled ? "the server stops" : error.text(), error.close_reason());
}

void Connection::finish(std::string_view why, CloseReason reason) {
    // When a network fails, many publishers end at once, and their recordings with them.
    if (publisher_) runtime::await_short_iteration();
    if (publisher_) keep_figures();
    publisher_.reset();
    grant_.end(traffic());
    log_end(why, reason);
}

// Only the first reason counts.
void Connection::will_end(std::string_view why, CloseReason reason) {
    set_close_reason(reason);
    if (work_->end_reason.empty()) work_->end_reason = why;
}

void Connection::kick(std::string_view reason) {
    runtime::ContextScope scope(id());
    const CloseReason code = close_reason() == CloseReason::kUnknown ? CloseReason::kKicked : close_reason();
    if (viewer_) return viewer_->abort(reason, code);
    will_end(reason, code);
    work_->task.cancel();
}

net::SessionFigures Connection::figures() const {
    if (publisher_) return publisher_->figures(stream_.get());
    if (!viewer_) return {};
    net::SessionFigures figures = figures_of(*viewer_);
    if (lost_)
        for (const uint32_t lost : *lost_) figures.lost += lost;
    return figures;
}

net::ClientDetails Connection::details() const { return {url_, {}, {}, params_}; }

net::Traffic Connection::traffic() const {
    net::Traffic sum{received_bytes_, sent_bytes_};
    if (!viewer_) return sum;
    const live::ViewerCounters counted = viewer_->counters();
    return {sum.received_bytes + counted.received_bytes, sum.sent_bytes + counted.sent_bytes};
}

}  // namespace service::rtsp
