#include "service/rtsp/camera_source.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "protocol/http/via.h"
#include "protocol/rtsp/client_session.h"
#include "protocol/rtsp/reader.h"
#include "protocol/sdp/session/read.h"
#include "runtime/loop/clock.h"
#include "service/relay/dial.h"
#include "service/rtsp/publisher.h"
#include "service/rtsp/random.h"
#include "service/rtsp/stats.h"
#include "service/rtsp/udp_ports.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kWriteMs = 10'000;
constexpr int64_t kCameraTickMs = 500, kCameraUdpTickMs = 50;
constexpr int64_t kReportIntervalUs = 5'000'000;
constexpr ::rtsp::Limits kCameraLimits{};

// Tracks that take media instead of sending it, such as ONVIF's back channel, are left out. A server that calls all of
// its tracks so means its own direction.
void leave_out_back_channels(sdp::ReadSession& session) {
    const auto is_back = [](const sdp::SessionTrack& track) { return track.direction == sdp::Direction::kSendOnly; };
    if (std::ranges::all_of(session.tracks, is_back)) return;
    std::erase_if(session.tracks, is_back);
    uint8_t counts[8] = {};
    for (sdp::SessionTrack& track : session.tracks) track.index = counts[static_cast<size_t>(track.kind) % 8]++;
}

class CameraSource final : public relay::Source, private PublisherOwner, private UdpReceiver {
  public:
    explicit CameraSource(CameraOptions options) : options_(std::move(options)), reader_(kCameraLimits) {}

    Result<void> run(relay::Fetch& fetch, Deadline limit) override;
    Result<std::unique_ptr<relay::Source>> redirected() override;
    const std::string& shown() const override { return options_.source.url; }

  private:
    Result<void> serve();
    Result<void> send_requests();
    Result<void> take(std::span<const uint8_t> bytes);
    Result<void> on_message(const ::rtsp::Message& message);
    Result<void> on_described();
    Result<void> set_up(bool tcp);
    void on_playing();
    void on_media(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us);
    bool acquire();
    Result<void> tick();
    void add_reports(int64_t now_us);
    void leave();

    // UdpReceiver
    void on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) override;
    // PublisherOwner
    void on_revoked(std::string_view why, CloseReason reason) override { fetch_->close(why, reason); }
    bool peer_alive() const override { return socket_ && !socket_->peer_gone(); }
    live::PublisherFacts publisher_facts() const override;

    const CameraOptions options_;
    relay::Fetch* fetch_ = nullptr;
    std::unique_ptr<runtime::ByteStream> socket_;
    std::optional<base::IpAddress> address_;  // of the camera; nothing: it has a zone
    std::optional<::rtsp::ClientSession> client_;
    ::rtsp::Reader reader_;
    std::string output_;  // to be sent
    sdp::ReadSession described_;
    std::vector<std::unique_ptr<UdpPorts>> ports_;  // of each track, by UDP
    std::unique_ptr<Publisher> publisher_;
    CountedSession counted_;
    std::string path_;  // the servers that the stream passed
    std::string location_;
    bool tcp_ = true;
    bool tried_other_ = false;
    bool playing_ = false;
    int64_t report_us_ = 0;
};

Result<void> CameraSource::run(relay::Fetch& fetch, Deadline limit) {
    fetch_ = &fetch;
    const PullSource& source = options_.source;
    socket_ = TRY(relay::dial(source.host, source.port, source.tls ? options_.tls : nullptr, limit, limit));
    address_ = base::IpAddress::parse(socket_->peer_ip());
    ::rtsp::ClientOptions options;
    options.url = source.url;
    options.credentials = source.credentials;
    options.basic = source.basic;
    options.digest = source.digest;
    options.cnonce = random_hex(8);
    client_.emplace(options);
    auto served = serve();
    leave();
    return served;
}

Result<std::unique_ptr<relay::Source>> CameraSource::redirected() {
    if (location_.empty()) return nullptr;
    CameraOptions options = options_;
    options.source = TRY(rtsp::redirected(options_.source, location_), "redirect");
    return make_camera_source(std::move(options));
}

Result<void> CameraSource::serve() {
    while (!fetch_->is_ending()) {
        TRY(send_requests(), "writing");
        auto read = runtime::read_shared(*socket_, Deadline::in_ms(ports_.empty() ? kCameraTickMs : kCameraUdpTickMs));
        if (!read && read.error().code() != Code::kTimeout) return std::unexpected(std::move(read).error());
        if (read) {
            if (read->empty()) return fail(Code::kClosed, "closed by the camera");
            fetch_->traffic.received_bytes += read->size();
            auto taken = take(*read);
            if (!taken && !playing_) fetch_->refused();
            TRY(std::move(taken));
        }
        if (!location_.empty()) return fail(Code::kClosed, "the camera is at another address");
        TRY(tick());
        if (playing_) fetch_->check();
    }
    return fail(Code::kClosed, fetch_->end_text());
}

Result<void> CameraSource::send_requests() {
    while (auto request = client_->take_request(runtime::now_ms())) output_ += ::rtsp::write(*request);
    if (output_.empty()) return {};
    const std::string bytes = std::exchange(output_, {});
    fetch_->traffic.sent_bytes += bytes.size();
    return socket_->write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, Deadline::in_ms(kWriteMs));
}

// While it plays, frames are parsed where they lie, and nothing yields.
Result<void> CameraSource::take(std::span<const uint8_t> bytes) {
    std::vector<uint8_t> kept;
    if (!playing_) {
        kept.assign(bytes.begin(), bytes.end());
        bytes = kept;
    }
    while (!fetch_->is_ending() && location_.empty()) {
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
    return {};
}

Result<void> CameraSource::on_message(const ::rtsp::Message& message) {
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
            if (tried_other_ || options_.source.transport == PullSource::Transport::kTcp)
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

Result<void> CameraSource::on_described() {
    if (http::has_passed(path_, fetch_->registry().instance()))
        return fail(Code::kRefused, "the stream comes from this server itself: that would be a loop");
    auto session = sdp::read_session_text(client_->description(), client_->base());
    if (!session) return fail(Code::kProtocol, "description: " + session.error().text());
    described_ = *std::move(session);
    leave_out_back_channels(described_);
    if (described_.tracks.empty())
        return fail(Code::kProtocol, described_.skipped.empty() ? "description: no media"
                                                                : "description: " + described_.skipped.front().reason);
    for (const std::string& warning : described_.warnings) base::log::info("{}: {}", fetch_->log_name(), warning);
    for (const auto& skipped : described_.skipped)
        base::log::info("{}: left out: {}", fetch_->log_name(), skipped.reason);
    if (described_.tracks.size() > ::rtsp::ClientSession::kMaxTracks)
        described_.tracks.resize(::rtsp::ClientSession::kMaxTracks);
    return set_up(options_.source.transport != PullSource::Transport::kUdpThenTcp);
}

Result<void> CameraSource::set_up(bool tcp) {
    if (!tcp && !address_) return fail(Code::kOther, "UDP from an address with a zone is not supported");
    tcp_ = tcp;
    ports_.clear();
    publisher_ = std::make_unique<Publisher>(static_cast<PublisherOwner&>(*this), fetch_->snapshot(), fetch_->vhost(),
                                             described_.tracks, described_.skipped.size(), !tcp, runtime::now_us());
    std::vector<::rtsp::ClientTrack> tracks;
    for (size_t i = 0; i < described_.tracks.size(); ++i) {
        ::rtsp::ClientTrack& track = tracks.emplace_back();
        track.control = described_.tracks[i].control;
        if (tcp) continue;
        ports_.push_back(TRY(UdpPorts::open_any(rtsp_stats().refused_pull)));
        ports_.back()->claim_host(*this, i, *address_);
        track.client_ports = ports_.back()->ports();
    }
    client_->set_up(std::move(tracks), tcp, described_.control.empty() ? client_->base() : described_.control);
    return {};
}

void CameraSource::on_playing() {
    playing_ = true;
    fetch_->opened();
    if (client_->uses_basic() && !options_.source.tls) options_.on_password_in_the_clear();
    for (const ::rtsp::RtpInfo& info : client_->rtp_info()) {
        const auto track = sdp::find_track(described_, info.url);
        if (track && info.timestamp) publisher_->set_rtp_info(*track, *info.timestamp);
    }
}

void CameraSource::on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) {
    runtime::ContextScope scope(fetch_->id());
    fetch_->traffic.received_bytes += bytes.size();
    on_media(track, rtcp, bytes, now_us);
}

void CameraSource::on_media(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) {
    if (!publisher_ || fetch_->is_ending()) return;
    if (rtcp) return publisher_->on_rtcp(track, bytes, now_us);
    const bool is_rtp = bytes.size() >= 12 && bytes[0] >> 6 == 2;
    if (is_rtp && !fetch_->is_streaming() && !acquire()) return;
    publisher_->on_rtp(track, bytes, now_us);
}

bool CameraSource::acquire() {
    if (auto acquired = publisher_->acquire(fetch_->stream()); !acquired) {
        fetch_->close(acquired.error().text(), acquired.error().close_reason());
        return false;
    }
    fetch_->streaming(socket_->peer_ip(), shown(), tcp_ ? "interleaved" : "UDP");
    counted_.begin(SessionKind::kPull, tcp_ ? Carrier::kTcp : Carrier::kUdp);
    return true;
}

Result<void> CameraSource::tick() {
    TRY(client_->on_timer(runtime::now_ms()));
    if (!playing_) return {};
    const int64_t now_us = runtime::now_us();
    publisher_->on_tick(now_us);
    if (const auto passed = publisher_->passed_limit(now_us, nullptr)) fetch_->close(passed->text, passed->reason);
    if (now_us < report_us_) return {};
    report_us_ = now_us + kReportIntervalUs;
    add_reports(now_us);
    return {};
}

void CameraSource::add_reports(int64_t now_us) {
    for (size_t track = 0; track < publisher_->tracks(); ++track) {
        const auto* transport = client_->transport(track);
        const std::vector<uint8_t> report = publisher_->report(track, now_us);
        if (!transport || report.empty()) continue;
        if (!tcp_) {
            uint16_t port = transport->server_port ? transport->server_port->rtcp : uint16_t{0};
            if (port == 0) port = ports_[track]->rtcp_port_of(*address_);
            if (port != 0) ports_[track]->send(true, {*address_, port}, report);
            fetch_->traffic.sent_bytes += report.size();
            continue;
        }
        const char head[] = {'$', static_cast<char>(transport->interleaved->rtcp),
                             static_cast<char>(report.size() >> 8), static_cast<char>(report.size())};
        output_.append(head, sizeof head);
        output_.append(reinterpret_cast<const char*>(report.data()), report.size());
    }
}

// Says goodbye, without waiting, and ends the publication.
void CameraSource::leave() {
    client_->end();
    if (const auto request = client_->take_request(runtime::now_ms())) {
        const std::string bytes = ::rtsp::write(*request);
        (void)socket_->try_write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    }
    ports_.clear();
    publisher_.reset();
    counted_.end();
}

live::PublisherFacts CameraSource::publisher_facts() const {
    return {.session_id = fetch_->id(),
            .ip = socket_ ? socket_->peer_ip() : std::string(),
            .tc_url = shown(),
            .forward_path = path_};
}

}  // namespace

Result<PullSource> redirected(const PullSource& from, const std::string& location) {
    PullSource to = from;
    static_cast<::rtsp::Url&>(to) = TRY(::rtsp::redirected(from, location));
    if (to.tls) to.transport = PullSource::Transport::kTcp;
    return to;
}

std::unique_ptr<relay::Source> make_camera_source(CameraOptions options) {
    return std::make_unique<CameraSource>(std::move(options));
}

}  // namespace service::rtsp
