#include "service/rtsp/pull_connection.h"

#include <algorithm>

#include "base/log.h"
#include "protocol/http/via.h"
#include "runtime/loop/clock.h"
#include "runtime/socket/tcp.h"
#include "service/rtsp/random.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kConnectMs = 10'000, kWriteMs = 10'000;
constexpr int64_t kTickMs = 500, kUdpTickMs = 50;
constexpr int64_t kReportIntervalUs = 5'000'000;
constexpr ::rtsp::Limits kLimits{};

// Tracks that take media instead of sending it, such as ONVIF's back channel, are left out. A server that calls all of
// its tracks so means its own direction.
void leave_out_back_channels(sdp::ReadSession& session) {
    const auto is_back = [](const sdp::SessionTrack& track) { return track.direction == sdp::Direction::kSendOnly; };
    if (std::ranges::all_of(session.tracks, is_back)) return;
    std::erase_if(session.tracks, is_back);
    uint8_t counts[8] = {};
    for (sdp::SessionTrack& track : session.tracks) track.index = counts[static_cast<size_t>(track.kind) % 8]++;
}

}  // namespace

net::SessionType rtsp_pull_type() {
    static const net::SessionType kType = net::SessionType::add("rtsp-pull", true);
    return kType;
}

Result<PullSource> redirected(const PullSource& from, const std::string& location) {
    PullSource to = from;
    static_cast<::rtsp::Url&>(to) = TRY(::rtsp::redirected(from, location));
    if (to.tls) to.transport = PullSource::Transport::kTcp;
    return to;
}

PullConnection::PullConnection(Pull& pull, PullOwner& owner, const PullSource& source, config::SnapshotPtr snapshot,
                               const config::Vhost& vhost, base::Ref<live::Stream> stream)
    : pull_(pull),
      owner_(owner),
      source_(source),
      snapshot_(std::move(snapshot)),
      vhost_(vhost),
      stream_(std::move(stream)),
      id_(runtime::new_context_id()),
      reader_(kLimits) {}

PullConnection::~PullConnection() = default;

void PullConnection::close(std::string_view why, CloseReason reason) {
    if (!end_reason_.empty()) return;
    end_reason_ = why;
    end_code_ = reason;
}

Result<void> PullConnection::run() {
    runtime::ContextScope scope(id_);
    TRY(connect());
    ::rtsp::ClientOptions options;
    options.url = source_.url;
    options.credentials = source_.credentials;
    options.basic = source_.basic;
    options.digest = source_.digest;
    options.cnonce = random_hex(8);
    client_.emplace(options);
    auto served = serve();
    leave(served);
    return served;
}

Result<void> PullConnection::connect() {
    const auto limit = Deadline::in_ms(kConnectMs);
    socket_ = TRY(runtime::connect_tcp(source_.host, source_.port, limit));
    socket_->set_no_delay(true);
    address_ = base::IpAddress::parse(socket_->peer_ip());
    if (!source_.tls) return {};
    auto context = TRY(owner_.tls().context());
    socket_ = TRY(runtime::tls_connect(std::move(socket_), std::move(context), source_.host, limit), "TLS handshake");
    return {};
}

Result<void> PullConnection::serve() {
    while (end_reason_.empty()) {
        TRY(send_requests(), "writing");
        auto read = runtime::read_shared(*socket_, Deadline::in_ms(ports_.empty() ? kTickMs : kUdpTickMs));
        if (!read && read.error().code() != Code::kTimeout) return std::unexpected(std::move(read).error());
        if (read) {
            if (read->empty()) return fail(Code::kClosed, "closed by the camera");
            received_bytes_ += read->size();
            TRY(take(*read));
        }
        if (!location_.empty()) return {};
        TRY(tick());
        if (playing_ && pull_.is_unwanted()) {
            close("no player for a while (on_demand)", CloseReason::kNoViewers);
            return {};
        }
    }
    return fail(Code::kClosed, end_reason_);
}

Result<void> PullConnection::send_requests() {
    while (auto request = client_->take_request(runtime::now_ms())) output_ += ::rtsp::write(*request);
    if (output_.empty()) return {};
    const std::string bytes = std::exchange(output_, {});
    sent_bytes_ += bytes.size();
    return socket_->write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, Deadline::in_ms(kWriteMs));
}

// While it plays, frames are parsed where they lie, and nothing yields.
Result<void> PullConnection::take(std::span<const uint8_t> bytes) {
    std::vector<uint8_t> kept;
    if (!playing_) {
        kept.assign(bytes.begin(), bytes.end());
        bytes = kept;
    }
    while (end_reason_.empty() && location_.empty()) {
        size_t used = 0;
        const auto step = reader_.feed(bytes, used);
        bytes = bytes.subspan(used);
        if (step == ::rtsp::Reader::Step::kNeedMore) break;
        if (step == ::rtsp::Reader::Step::kError) return fail(Code::kProtocol, std::string(reader_.error_text()));
        if (step == ::rtsp::Reader::Step::kMessage) {
            TRY(on_message(reader_.take_message()));
            continue;
        }
        if (const auto channel = client_->channel(reader_.channel()))
            on_media(channel->track, channel->rtcp, reader_.payload(), runtime::now_us());
    }
    if (publisher_) publisher_->was_read();
    return {};
}

Result<void> PullConnection::on_message(const ::rtsp::Message& message) {
    using Event = ::rtsp::ClientSession::Event;
    if (message.is_request) {
        output_ += ::rtsp::write(client_->on_request(message));
        if (client_->state() != ::rtsp::ClientSession::State::kEnded) return {};
        return fail(Code::kClosed, "the camera ended the session (TEARDOWN)");
    }
    const auto event = TRY(client_->on_response(message, runtime::now_ms()));
    switch (event) {
        case Event::kDescribed:
            path_ = http::path_of_via(message.headers.get("Via"));
            return on_described();
        case Event::kOtherTransport:
            if (tried_other_ || source_.transport == PullSource::Transport::kTcp)
                return fail(Code::kOther, "the camera offers no transport that is allowed here");
            tried_other_ = true;
            return set_up(!tcp_);
        case Event::kStreaming:
            on_playing();
            return {};
        case Event::kRedirected:
            location_ = client_->location();
            return {};
        case Event::kEnded:
            return fail(Code::kClosed, "the session ended");
        case Event::kNone:
            return {};
    }
    return {};
}

Result<void> PullConnection::on_described() {
    if (http::has_passed(path_, owner_.registry().instance()))
        return fail(Code::kRefused, "the stream comes from this server itself: that would be a loop");
    auto session = sdp::read_session_text(client_->description(), client_->base());
    if (!session) return fail(Code::kProtocol, "description: " + session.error().text());
    described_ = *std::move(session);
    leave_out_back_channels(described_);
    if (described_.tracks.empty())
        return fail(Code::kProtocol, described_.skipped.empty() ? "description: no media"
                                                                : "description: " + described_.skipped.front().reason);
    for (const std::string& warning : described_.warnings) base::log::info("ingest {}: {}", pull_.task().name, warning);
    for (const auto& skipped : described_.skipped)
        base::log::info("ingest {}: left out: {}", pull_.task().name, skipped.reason);
    if (described_.tracks.size() > ::rtsp::ClientSession::kMaxTracks)
        described_.tracks.resize(::rtsp::ClientSession::kMaxTracks);
    return set_up(source_.transport != PullSource::Transport::kUdpThenTcp);
}

Result<void> PullConnection::set_up(bool tcp) {
    if (!tcp && !address_) return fail(Code::kOther, "UDP from an address with a zone is not supported");
    tcp_ = tcp;
    ports_.clear();
    publisher_ = std::make_unique<Publisher>(static_cast<PublisherOwner&>(*this), snapshot_, vhost_, described_.tracks,
                                             described_.skipped.size(), !tcp, runtime::now_us());
    std::vector<::rtsp::ClientTrack> tracks;
    for (size_t i = 0; i < described_.tracks.size(); ++i) {
        ::rtsp::ClientTrack& track = tracks.emplace_back();
        track.control = described_.tracks[i].control;
        if (tcp) continue;
        ports_.push_back(TRY(PullPorts::open(static_cast<UdpReceiver&>(*this), i, *address_)));
        track.client_ports = ports_.back()->ports();
    }
    client_->set_up(std::move(tracks), tcp, described_.control.empty() ? client_->base() : described_.control);
    return {};
}

void PullConnection::on_playing() {
    playing_ = true;
    if (client_->uses_basic() && !source_.tls) pull_.note_password_in_the_clear();
    for (const ::rtsp::RtpInfo& info : client_->rtp_info()) {
        const auto track = sdp::find_track(described_, info.url);
        if (track && info.timestamp) publisher_->set_rtp_info(*track, *info.timestamp);
    }
}

void PullConnection::on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) {
    runtime::ContextScope scope(id_);
    received_bytes_ += bytes.size();
    on_media(track, rtcp, bytes, now_us);
    if (publisher_) publisher_->was_read();
}

void PullConnection::on_media(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) {
    if (!publisher_ || !end_reason_.empty()) return;
    if (rtcp) return publisher_->on_rtcp(track, bytes, now_us);
    const bool is_rtp = bytes.size() >= 12 && bytes[0] >> 6 == 2;
    if (is_rtp && !session_ && !acquire()) return;
    publisher_->on_rtp(track, bytes, now_us);
}

bool PullConnection::acquire() {
    if (auto acquired = publisher_->acquire(*stream_); !acquired) {
        close(acquired.error().text(), acquired.error().close_reason());
        return false;
    }
    session_.emplace(
        owner_.sessions(),
        OutgoingSession::Facts{.id = id_,
                               .ip = socket_->peer_ip(),
                               .type = rtsp_pull_type(),
                               .stream = stream_->key(),
                               .url = source_.url},
        OutgoingSession::Connection{.traffic =
                                        [this] {
                                            return net::Traffic{received_bytes_, sent_bytes_};
                                        },
                                    .kick = [this](std::string_view why) { close(why, CloseReason::kKicked); }});
    counted_.begin(SessionKind::kPull, tcp_ ? Carrier::kTcp : Carrier::kUdp);
    pull_.note_streaming(socket_->peer_ip(), tcp_);
    return true;
}

Result<void> PullConnection::tick() {
    TRY(client_->on_timer(runtime::now_ms()));
    if (!playing_) return {};
    const int64_t now_us = runtime::now_us();
    publisher_->on_tick(now_us);
    if (std::string why = publisher_->timeout_text(now_us); !why.empty()) close(why, CloseReason::kPeerTimeout);
    if (now_us < report_us_) return {};
    report_us_ = now_us + kReportIntervalUs;
    add_reports(now_us);
    return {};
}

void PullConnection::add_reports(int64_t now_us) {
    for (size_t track = 0; track < publisher_->tracks(); ++track) {
        const auto* transport = client_->transport(track);
        const std::vector<uint8_t> report = publisher_->report(track, now_us);
        if (!transport || report.empty()) continue;
        if (!tcp_) {
            ports_[track]->send_rtcp(transport->server_port ? transport->server_port->rtcp : uint16_t{0}, report);
            sent_bytes_ += report.size();
            continue;
        }
        const char head[] = {'$', static_cast<char>(transport->interleaved->rtcp),
                             static_cast<char>(report.size() >> 8), static_cast<char>(report.size())};
        output_.append(head, sizeof head);
        output_.append(reinterpret_cast<const char*>(report.data()), report.size());
    }
}

// Says goodbye, without waiting, and ends the publication.
void PullConnection::leave(const Result<void>& served) {
    client_->end();
    if (const auto request = client_->take_request(runtime::now_ms())) {
        const std::string bytes = ::rtsp::write(*request);
        (void)socket_->try_write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    }
    ports_.clear();
    publisher_.reset();
    if (!session_) return;
    if (end_reason_.empty()) {
        const bool stops = !served && served.error().code() == Code::kCancelled;
        if (stops) close("the server stops", CloseReason::kServerStop);
        if (!served) close(served.error().text(), served.error().close_reason());
    }
    session_->end(end_reason_, end_code_);
    session_.reset();
    counted_.end();
}

live::PublisherFacts PullConnection::publisher_facts() const {
    return {.session_id = id_,
            .ip = socket_ ? socket_->peer_ip() : std::string(),
            .tc_url = source_.url,
            .forward_path = path_};
}

}  // namespace service::rtsp
