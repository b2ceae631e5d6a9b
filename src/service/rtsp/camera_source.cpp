#include "service/rtsp/camera_source.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "protocol/http/via.h"
#include "protocol/sdp/session/read.h"
#include "runtime/loop/clock.h"
#include "service/rtsp/peer_session.h"
#include "service/rtsp/publisher.h"
#include "service/rtsp/stats.h"

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

// Tracks that take media instead of sending it, such as ONVIF's back channel, are left out. A server that calls all of
// its tracks so means its own direction.
void leave_out_back_channels(sdp::ReadSession& session) {
    const auto is_back = [](const sdp::SessionTrack& track) { return track.direction == sdp::Direction::kSendOnly; };
    if (std::ranges::all_of(session.tracks, is_back)) return;
    std::erase_if(session.tracks, is_back);
    uint8_t counts[8] = {};
    for (sdp::SessionTrack& track : session.tracks) track.index = counts[static_cast<size_t>(track.kind) % 8]++;
}

class CameraSource final : public relay::Source, private PublisherOwner, private UdpReceiver, private PeerUser {
  public:
    explicit CameraSource(CameraOptions options) : options_(std::move(options)) {}

    Result<void> run(relay::Fetch& fetch, Deadline limit) override;
    Result<std::unique_ptr<relay::Source>> redirected() override;
    const std::string& shown() const override { return options_.source.url; }

  private:
    Result<void> serve();
    Result<void> send_output();
    void on_media(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us);
    bool acquire();
    Result<void> tick();
    void add_reports(int64_t now_us);
    void leave();

    // PeerUser
    Result<PeerTracks> on_described(const ::rtsp::Message& answer) override;
    void on_transport() override;
    void on_streaming() override;
    void on_interleaved(size_t track, bool rtcp, std::span<const uint8_t> bytes) override {
        on_media(track, rtcp, bytes, runtime::now_us());
    }
    // UdpReceiver
    void on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) override;
    // PublisherOwner
    void on_revoked(std::string_view why, CloseReason reason) override { fetch_->close(why, reason); }
    bool peer_alive() const override { return peer_.stream() && !peer_.stream()->peer_gone(); }
    live::PublisherFacts publisher_facts() const override;

    const CameraOptions options_;
    relay::Fetch* fetch_ = nullptr;
    PeerSession peer_{static_cast<PeerUser&>(*this), rtsp_stats().refused_pull};
    sdp::ReadSession described_;
    std::unique_ptr<Publisher> publisher_;
    CountedSession counted_;
    std::string path_;  // the servers that the stream passed
    bool playing_ = false;
    int64_t report_us_ = 0;
};

Result<void> CameraSource::run(relay::Fetch& fetch, Deadline limit) {
    fetch_ = &fetch;
    const PullSource& source = options_.source;
    ::rtsp::ClientOptions options;
    options.basic = source.basic;
    options.digest = source.digest;
    const PeerSession::Transports transports{.tcp_first = source.transport != PullSource::Transport::kUdpThenTcp,
                                             .has_other = source.transport != PullSource::Transport::kTcp};
    TRY(peer_.connect(source, options, transports, options_.tls, limit));
    auto served = serve();
    leave();
    return served;
}

Result<std::unique_ptr<relay::Source>> CameraSource::redirected() {
    if (peer_.location().empty()) return nullptr;
    CameraOptions options = options_;
    options.source = TRY(rtsp::redirected(options_.source, peer_.location()), "redirect");
    return make_camera_source(std::move(options));
}

Result<void> CameraSource::serve() {
    while (!fetch_->is_ending()) {
        TRY(send_output(), "writing");
        auto read =
            runtime::read_shared(*peer_.stream(), Deadline::in_ms(peer_.tcp() ? kCameraTickMs : kCameraUdpTickMs));
        if (!read && read.error().code() != Code::kTimeout) return std::unexpected(std::move(read).error());
        if (read) {
            if (read->empty()) return fail(Code::kClosed, "closed by the camera");
            fetch_->traffic.received_bytes += read->size();
            auto taken = peer_.take(*read);
            if (!taken && !playing_) fetch_->refused();
            TRY(std::move(taken));
        }
        if (!peer_.location().empty()) return fail(Code::kClosed, "the camera is at another address");
        if (peer_.has_ended()) return fail(Code::kClosed, "the camera ended the session");
        TRY(tick());
        if (playing_) fetch_->check();
    }
    return fail(Code::kClosed, fetch_->end_text());
}

Result<void> CameraSource::send_output() {
    const std::string bytes = peer_.take_output();
    if (bytes.empty()) return {};
    fetch_->traffic.sent_bytes += bytes.size();
    return peer_.stream()->write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                 Deadline::in_ms(kWriteMs));
}

Result<PeerTracks> CameraSource::on_described(const ::rtsp::Message& answer) {
    path_ = http::path_of_via(answer.headers.get("Via"));
    if (http::has_passed(path_, fetch_->registry().instance()))
        return fail(Code::kRefused, "the stream comes from this server itself: that would be a loop");
    auto session = sdp::read_session_text(peer_.client().description(), peer_.client().base());
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
    PeerTracks tracks;
    for (const sdp::SessionTrack& track : described_.tracks) tracks.controls.push_back(track.control);
    tracks.session = described_.control.empty() ? peer_.client().base() : described_.control;
    return tracks;
}

void CameraSource::on_transport() {
    publisher_ =
        std::make_unique<Publisher>(static_cast<PublisherOwner&>(*this), fetch_->snapshot(), fetch_->vhost(),
                                    described_.tracks, described_.skipped.size(), !peer_.tcp(), runtime::now_us());
    for (size_t i = 0; i < peer_.ports().size(); ++i) peer_.ports()[i]->claim_host(*this, i, *peer_.address());
}

void CameraSource::on_streaming() {
    playing_ = true;
    fetch_->opened();
    if (peer_.client().uses_basic() && !options_.source.tls) options_.on_password_in_the_clear();
    for (const ::rtsp::RtpInfo& info : peer_.client().rtp_info()) {
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
    fetch_->streaming(peer_.stream()->peer_ip(), shown(), peer_.tcp() ? "interleaved" : "UDP");
    counted_.begin(SessionKind::kPull, peer_.tcp() ? Carrier::kTcp : Carrier::kUdp);
    return true;
}

Result<void> CameraSource::tick() {
    TRY(peer_.on_timer());
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
        const auto* transport = peer_.client().transport(track);
        const std::vector<uint8_t> report = publisher_->report(track, now_us);
        if (!transport || report.empty()) continue;
        if (!peer_.tcp()) {
            uint16_t port = transport->server_port ? transport->server_port->rtcp : uint16_t{0};
            if (port == 0) port = peer_.ports()[track]->rtcp_port_of(*peer_.address());
            if (port != 0) peer_.ports()[track]->send(true, {*peer_.address(), port}, report);
            fetch_->traffic.sent_bytes += report.size();
            continue;
        }
        const char head[] = {'$', static_cast<char>(transport->interleaved->rtcp),
                             static_cast<char>(report.size() >> 8), static_cast<char>(report.size())};
        peer_.add_output({head, sizeof head});
        peer_.add_output({reinterpret_cast<const char*>(report.data()), report.size()});
    }
}

// Says goodbye, without waiting, and ends the publication.
void CameraSource::leave() {
    peer_.client().end();
    const std::string bytes = peer_.take_output();
    if (!bytes.empty()) (void)peer_.stream()->try_write({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    peer_.ports().clear();
    publisher_.reset();
    counted_.end();
}

live::PublisherFacts CameraSource::publisher_facts() const {
    return {.session_id = fetch_->id(),
            .ip = peer_.stream() ? peer_.stream()->peer_ip() : std::string(),
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
