#include "service/caster/flv_connection.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "live/hub/options.h"
#include "net/http/close_gently.h"
#include "net/http/forwarded.h"
#include "net/http/http_visitor.h"
#include "protocol/http/date.h"
#include "protocol/http/request_parser.h"
#include "protocol/http/response_head.h"
#include "runtime/loop/clock.h"
#include "service/caster/service.h"
#include "service/caster/stats.h"
#include "service/session_figures.h"

namespace service::caster {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kRequestMs = 10'000;  // for the head, from accept on
constexpr int64_t kAnswerMs = 1'000;
constexpr int64_t kCheckMs = 500;
constexpr std::string_view kExtension = ".flv";

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The status of a refusal or an error, where nothing said another one.
int status_of(CloseReason reason) {
    switch (reason) {
        case CloseReason::kRefusedBusy:
        case CloseReason::kPublisherReplaced:
            return 409;
        case CloseReason::kRefusedLimit:
        case CloseReason::kKicked:
        case CloseReason::kServerStop:
            return 503;
        case CloseReason::kNotFound:
            return 404;
        case CloseReason::kPeerTimeout:
            return 408;
        case CloseReason::kFlood:
            return 413;
        case CloseReason::kProtocolError:
            return 400;
        case CloseReason::kSystemError:
            return 500;
        default:
            return 403;
    }
}

// "/live/a/s.flv": app "live/a", stream "s".
OutputNames names_of(const http::Request& request) {
    std::string_view path = request.path;
    while (path.starts_with('/')) path.remove_prefix(1);
    if (path.ends_with(kExtension)) path.remove_suffix(kExtension.size());
    const size_t slash = path.rfind('/');
    OutputNames names;
    names.stream = path.substr(slash == path.npos ? 0 : slash + 1);
    if (slash != path.npos) names.app = path.substr(0, slash);
    names.vhost = net::vhost_name(request);
    return names;
}

}  // namespace

net::SessionType flv_publish_type() {
    static const net::SessionType kType = net::SessionType::add("flv-publish", true);
    return kType;
}

FlvConnection::FlvConnection(Service& service, std::unique_ptr<runtime::ByteStream> socket, std::string output)
    : CasterSession(service, socket->peer_ip()), output_url_(std::move(output)), socket_(std::move(socket)) {}

bool FlvConnection::start() {
    service().sessions().admission().embryonic().add(*this, base::monotonic_ms());
    task_ = runtime::spawn("flv-publisher", [this] { run(); });
    return static_cast<bool>(task_);
}

// The top function of its coroutine.
void FlvConnection::run() {
    runtime::set_context_id(id());
    auto served = serve();
    if (served) {
        finish("the encoder has ended its FLV", CloseReason::kDone);
        answer(200, "published");
    } else {
        const base::Error& error = served.error();
        const bool stops = error.code() == Code::kCancelled && !is_ending();
        const std::string text = is_ending() ? end_reason() : stops ? "the server stops" : error.text();
        finish(text, error.close_reason());
        const int status = refused_status_ ? refused_status_ : status_of(close_reason());
        if (error.code() != Code::kClosed && !runtime::cancelled()) answer(status, text);
    }
    service().remove(*this);
}

Result<void> FlvConnection::serve() {
    TRY(read_request());
    TRY(begin(request_));
    return publish_body();
}

Result<void> FlvConnection::read_request() {
    using Step = http::RequestParser::Step;
    http::RequestParser parser({});
    const Deadline deadline = Deadline::in_ms(kRequestMs);
    while (true) {
        socket_->acknowledge_soon();
        const auto bytes = TRY(runtime::read_shared(*socket_, deadline), "waiting for the request");
        if (bytes.empty()) return fail(Code::kClosed, "closed by the peer before its request");
        received_bytes_ += bytes.size();
        size_t used = 0;
        const Step step = parser.feed(bytes, used);
        if (step == Step::kNeedMore) continue;
        if (step == Step::kError) {
            refused_status_ = parser.error_status();
            return fail(Code::kProtocol, parser.error_text());
        }
        early_.assign(bytes.begin() + static_cast<ptrdiff_t>(used), bytes.end());
        body_ = parser.body();
        request_ = std::move(parser.request());
        return {};
    }
}

// Admits it, and acquires the stream's name. Yields.
Result<void> FlvConnection::begin(const http::Request& request) {
    const auto refuse = [this](int status, std::string text) {
        refused_status_ = status;
        return fail(Code::kProtocol, std::move(text));
    };
    if (request.method != http::Method::kPost && request.method != http::Method::kPut)
        return refuse(405, "streams are published here, by POST");
    set_type(flv_publish_type());
    if (body_.framing() == http::BodyReader::Framing::kNone) return refuse(411, "the request has no body");
    auto output = parse_output(output_url_, names_of(request));
    if (!output) return refuse(400, output.error().text());
    output_ = *std::move(output);
    if (!request.raw_query.empty()) output_.params += (output_.params.empty() ? '?' : '&') + request.raw_query;
    const std::string client = net::client_ip(ip(), request.headers, service().snapshot()->global.trusted_proxies);
    Admitted admitted = TRY(admit(flv_publish_type(), client, socket_.get()));
    if (is_ending()) return fail(Code::kCancelled, end_reason());
    snapshot_ = std::move(admitted.snapshot);
    vhost_ = admitted.vhost;
    leave_list();
    set_agent(request.headers.get("User-Agent"));
    limits_.emplace(vhost_->publish, runtime::now_us());
    publication_ = TRY(admitted.stream->acquire(*this, vhost_->publish.takeover));
    enter(std::move(admitted.stream));
    base::log::trace("FLV publish: {}, by HTTP, from {}{}", stream_text(), socket_->peer_address(),
                     publication_.waits() ? ", as a standby" : "");
    return {};
}

net::SessionFigures FlvConnection::figures() const {
    return limits_ ? figures_of(*limits_, publication_.stream(), &bodies_.faults()) : net::SessionFigures();
}

Result<void> FlvConnection::publish_body() {
    if (request_.expects_continue) {
        constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
        sent_bytes_ += kContinue.size();
        TRY(socket_->write(bytes_of(kContinue), Deadline::in_ms(kAnswerMs)));
    }
    request_ = {};
    TRY(take_body(std::exchange(early_, {})));
    while (!body_.done()) {
        if (is_ending()) return fail(Code::kCancelled, end_reason());
        TRY(read_once());
        TRY(check_limits());
    }
    return {};
}

Result<void> FlvConnection::read_once() {
    const int64_t interval_ms = read_interval_ms();
    socket_->pace_reads(interval_ms);
    if (interval_ms == 0) socket_->acknowledge_soon();
    auto read = runtime::read_shared(*socket_, Deadline::in_ms(kCheckMs));
    if (!read && read.error().code() == Code::kTimeout) return {};
    const auto bytes = TRY(std::move(read));
    if (bytes.empty()) return fail(Code::kClosed, "closed by the peer");
    read_interval_.record_read(runtime::now_us(), bytes.size());
    const uint64_t before = std::exchange(received_bytes_, received_bytes_ + bytes.size());
    TRY(take_body(bytes));
    if ((before ^ received_bytes_) / net::InputMemory::kFree == 0) return {};
    if (live::Stream* stream = publication_.stream(); stream && unfinished_input() > net::InputMemory::kFree)
        stream->check_memory();
    return count_input();
}

Result<void> FlvConnection::take_body(std::span<const uint8_t> bytes) {
    while (!bytes.empty() && !body_.done()) {
        const auto step = TRY(body_.feed(bytes));
        bytes = bytes.subspan(step.used);
        TRY(take_tags(step.data));
    }
    return {};
}

Result<void> FlvConnection::take_tags(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return {};
    tags_.feed(bytes);
    while (const auto tag = TRY(tags_.next())) {
        ++tags_read_;
        auto parsed = bodies_.parse(tag->type, tag->body, tag->timestamp);
        if (!parsed) continue;
        // Bodies without a frame count as a sign of life, but not as the first one.
        if (limits_->has_media() || parsed->frame) {
            limits_->on_media(runtime::now_us());
            read_interval_.record_media(runtime::now_us());
        }
        convert::BodyPublisher::publish(publication_, *std::move(parsed));
    }
    return {};
}

Result<void> FlvConnection::check_limits() {
    const int64_t now_us = runtime::now_us();
    if (now_us / 1000 - checked_ms_ < kCheckMs) return {};
    checked_ms_ = now_us / 1000;
    if (const auto passed = limits_->passed(now_us, publication_.stream(), &bodies_.faults()))
        return fail(passed->reason, passed->text);
    return {};
}

int64_t FlvConnection::read_interval_ms() const {
    const bool merges = vhost_->publish.mr && !vhost_->min_latency;
    if (merges) return read_interval_.starts() ? 0 : vhost_->publish.mr_latency;
    const live::Stream* stream = publication_.stream();
    return stream ? read_interval_.ms(*stream, {vhost_->play.mw_latency, vhost_->min_latency}) : 0;
}

bool FlvConnection::read_now() { return socket_->poll_now(); }

// To a client that is still sending.
void FlvConnection::answer(int status, std::string_view text) {
    const std::string body = std::string(text) + "\n";
    http::HeadWriter head(status);
    head.field("Date", http::format_date(base::wall_ms() / 1000))
        .field("Content-Type", "text/plain; charset=utf-8")
        .field("Content-Length", body.size())
        .field("Connection", "close");
    if (status == 405) head.field("Allow", "POST, PUT");
    if (status == 503) head.field("Retry-After", "5");
    const std::string all = head.finish() + body;
    socket_->pace_reads(0);
    if (socket_->write(bytes_of(all), Deadline::in_ms(kAnswerMs))) net::close_gently(*socket_, kAnswerMs);
}

void FlvConnection::list_unfinished_input(std::vector<uint64_t>& parts) const {
    if (tags_.buffered() > 0) parts.push_back(tags_read_);
}

void FlvConnection::evict() {
    not_a_connection();
    close("the server is full: it made room for another connection", CloseReason::kRefusedLimit);
}

void FlvConnection::publication_revoked(std::string_view why, CloseReason reason) {
    // At its next check, so that it can answer.
    will_end(why, reason);
}

void FlvConnection::finish(std::string_view why, CloseReason reason) {
    keep_figures();
    publication_.end();
    log_and_leave(why, reason);
}

}  // namespace service::caster
