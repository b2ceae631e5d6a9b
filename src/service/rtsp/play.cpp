// A Connection that plays. DESCRIBE and SETUP may ask a guard and wait for tracks, so they yield. From PLAY on it is
// parked, without a coroutine, and nothing yields.

#include <fmt/core.h>

#include <algorithm>

#include "base/log.h"
#include "live/fanout/live_log.h"
#include "live/hub/options.h"
#include "protocol/http/via.h"
#include "protocol/rtcp/parser.h"
#include "protocol/rtsp/headers.h"
#include "protocol/sdp/session/control.h"
#include "protocol/sdp/session/write.h"
#include "runtime/loop/clock.h"
#include "service/await_stream.h"
#include "service/relay/path.h"
#include "service/rtsp/address.h"
#include "service/rtsp/camera.h"
#include "service/rtsp/config.h"
#include "service/rtsp/connection.h"
#include "service/rtsp/datagram_stream.h"
#include "service/rtsp/interleaved.h"
#include "service/rtsp/service.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
using base::Result;

namespace {

// Logs of players of a stream that chose channels of their own, whose bytes nobody shares.
constexpr size_t kMaxUncommonLogs = 4;

constexpr int64_t kTracksMs = 5'000;  // so long DESCRIBE waits for the tracks of a published stream

size_t uncommon_logs(const live::Stream& stream) {
    size_t count = 0;
    stream.for_each_log([&](live::LiveLog& log) {
        if (log.key().format == interleaved_format() && !PlayKey(log.key()).is_common()) ++count;
    });
    return count;
}

bool is_rtsp(net::SessionType publisher) { return publisher == rtsp_publish_type() || publisher == rtsp_pull_type(); }

bool has_log(const live::Stream& stream, const live::LogKey& key) {
    bool found = false;
    stream.for_each_log([&](live::LiveLog& log) { found |= log.key() == key; });
    return found;
}

class ReportedLoss final : public rtcp::Visitor {
  public:
    uint32_t packets = 0;

  private:
    void on_report_block(uint32_t, const rtcp::ReportBlock& block) override {
        packets = static_cast<uint32_t>(std::max<int64_t>(block.cumulative_lost, 0));
    }
};

}  // namespace

net::SessionType rtsp_play_type() {
    static const net::SessionType kType = net::SessionType::add("rtsp-play", false);
    return kType;
}

bool Connection::has_description_of(std::string_view url) const {
    return stream_ && work_->frames && sdp::same_url(url_, url);
}

// One that is fetched is waited for. Yields.
Result<base::Ref<live::Stream>> Connection::await_published(const ResolvedStream& resolved) {
    if (auto stream = service_.registry().find(resolved.key); stream && stream->published()) return stream;
    if (!service_.offers().is_fetched(resolved.key))
        return base::fail(CloseReason::kNotFound, "the stream is not published");
    auto stream = service_.registry().find_or_create(resolved.key, live::live_options(*resolved.vhost));
    const live::PlayerLease waits(stream);
    TRY(await_stream(
        *stream,
        {.sessions = service_.sessions(), .offers = service_.offers(), .ip = ip(), .client = work_->socket.get()}));
    return stream;
}

// Yields.
Result<void> Connection::await_tracks(live::Stream& stream) {
    const live::PlayerLease waits{base::Ref<live::Stream>(&stream)};
    const auto may_wait = [&] { return stream.published() || service_.offers().is_fetched(stream.key()); };
    return stream.await(live::Awaited::kTracks, runtime::Deadline::in_ms(kTracksMs), {work_->socket.get(), may_wait});
}

// Asks the gate and waits for the stream's tracks. url: of the whole stream. Yields.
Result<void> Connection::open_stream(const std::string& url) {
    if (has_description_of(url)) return {};
    if (session_.state() != ::rtsp::ServerSession::State::kInit)
        return base::fail(Code::kRefused, "the session has begun with another stream");
    const config::SnapshotPtr snapshot = service_.snapshot();
    const ResolvedStream resolved = TRY(resolve_url(url, *snapshot));
    auto grant =
        TRY(service_.gate().admit(visitor(net::Action::kPlay, resolved, url), *resolved.vhost, work_->socket.get()));
    auto stream = TRY(await_published(resolved));
    const net::StreamAccount* account = service_.sessions().accounts().find(resolved.key);
    const bool by_rtsp = account && account->publisher() && is_rtsp(account->publisher()->type());
    if (!by_rtsp && !resolved.vhost->get<VhostConfig>().rtmp_to_rtsp)
        return base::fail(CloseReason::kNotFound, "streams are not converted to RTSP (rtmp_to_rtsp)");
    auto frames = std::make_unique<live::FramesLease>(stream);
    TRY(await_tracks(*stream));
    std::vector<sdp::SessionTrack> described = sdp::session_tracks(*stream->tracks());
    if (described.size() > kMaxPlayTracks) described.resize(kMaxPlayTracks);
    if (described.empty()) return base::fail(CloseReason::kNotFound, "the stream has no track that RTP carries");
    TRY([&]() -> Result<void> {
        if (session_.set_tracks(::rtsp::ServerSession::Direction::kPlay, described.size())) return {};
        return base::fail(Code::kRefused, "the session has begun");
    }());
    grant_ = std::move(grant);
    params_ = resolved.params;
    url_ = url;
    stream_ = std::move(stream);
    work_->vhost = nullptr;  // of a description that it announced before
    work_->frames = std::move(frames);
    work_->tracks = std::move(described);
    return {};
}

Connection::Message Connection::describe(const Message& request) {
    const TrackUrl url = split_track(request.url);
    const std::string_view accept = request.headers.get("Accept");
    if (!accept.empty() && accept.find("application/sdp") == std::string_view::npos &&
        accept.find("*/*") == std::string_view::npos && accept.find("application/*") == std::string_view::npos)
        return response_to(request, 406);
    if (auto opened = open_stream(url.base); !opened) return refusal(request, "play", opened.error());
    Message response = response_to(request);
    response.headers.add("Content-Type", "application/sdp");
    response.headers.add("Content-Base", sdp::without_credentials(url_) + "/");
    // Who pulls the stream recognizes itself there.
    response.headers.add("Via", http::via_of_path(relay::path_through(*stream_, service_.registry()), "RTSP/1.0"));
    sdp::SessionText text;
    text.name = stream_->key().name;
    text.id = static_cast<uint64_t>(runtime::now_ms());
    text.version = 1;
    // Behind a query a relative control is not appended by clients that resolve it by RFC 3986.
    std::vector<sdp::SessionTrack> tracks = work_->tracks;
    if (url_.find('?') != url_.npos)
        for (sdp::SessionTrack& track : tracks) track.control = sdp::resolve_control(url_, track.control);
    response.body = sdp::write_session(text, tracks);
    return response;
}

// Players share bytes by their channels, so there is a limit of choices of their own. Empty: the choice is granted.
std::string_view Connection::channels_refusal(size_t track, const ::rtsp::Channels& channels) const {
    if (channels.rtcp != channels.rtp + 1) return "RTCP needs the channel after that of RTP";
    if (channels.rtp != 2 * track && uncommon_logs(*stream_) >= kMaxUncommonLogs)
        return "too many choices of channels: use 0-1 for the first track, 2-3 for the second";
    return {};
}

PlayKey Connection::play_key() const {
    PlayKey key;
    for (size_t i = 0; i < work_->tracks.size(); ++i) {
        const auto* chosen = session_.chosen(i);
        if (!chosen) continue;
        const sdp::SessionTrack& track = work_->tracks[i];
        // Players by UDP share the log of those with the common channels.
        const auto channel = chosen->tcp ? chosen->channels.rtp : static_cast<uint8_t>(2 * key.size());
        key.add({track.kind, track.index, track.format.codec, track.payload_type, channel});
    }
    return key;
}

Connection::Message Connection::play(const Message& request) {
    if (auto field = request.headers.find("Range")) {
        const auto range = ::rtsp::parse_range(*field);
        if (!range) return response_to(request, 400, range.error().text());
    }
    if (session_.begun()) {
        Message response = response_to(request);
        (void)session_.play();
        response.headers.add("Range", "npt=0.000-");
        return response;
    }
    const PlayKey key = play_key();
    if (!key.is_common() && uncommon_logs(*stream_) >= kMaxUncommonLogs && !has_log(*stream_, key.log_key()))
        return response_to(request, 503, "too many choices of channels");
    (void)session_.play();
    Message response = response_to(request);
    response.headers.add("Range", "npt=0.000-");
    add_rtp_info(response);
    return response;
}

// The first packet of each track. Without numbers where the player has to wait for a keyframe.
void Connection::add_rtp_info(Message& response) {
    const live::LiveOptions& options = stream_->options();
    live::LiveLog& log = stream_->log(play_key().log_key());
    const auto* start = options.gop_cache ? log.start_for_new_viewer(options.audio_cache_ms) : nullptr;
    std::vector<::rtsp::RtpInfo> info;
    for (size_t i = 0; i < work_->tracks.size(); ++i) {
        if (!session_.chosen(i)) continue;
        const sdp::SessionTrack& track = work_->tracks[i];
        ::rtsp::RtpInfo one;
        one.url = sdp::resolve_control(sdp::without_credentials(url_), track.control);
        if (start && sequence_at(start->encoder_state, info.size())) {
            one.sequence = sequence_at(start->encoder_state, info.size());
            one.timestamp = static_cast<uint32_t>(media::to_ticks(start->dts, track.format.clock_rate));
        }
        info.push_back(std::move(one));
    }
    response.headers.add("RTP-Info", ::rtsp::write(info));
}

// response: of PLAY, which is sent before the stream.
void Connection::park(const Message& response) {
    const live::LogKey key = play_key().log_key();
    set_type(rtsp_play_type());
    enter_stream(stream_->key(), false);
    base::log::trace("RTSP play: {}, {}, from {}", stream_text(), claimed_ ? "UDP" : "interleaved", ip());
    heard_ms_ = runtime::now_ms();
    counted_.begin(SessionKind::kPlay, carrier());
    if (claimed_) lost_ = std::make_unique<std::array<uint32_t, kMaxPlayTracks>>();
    viewer_.emplace(static_cast<live::ViewerHandler&>(*this), stream_);
    viewer_->join(key, claimed_ ? stream_of_datagrams() : std::move(work_->socket),
                  base::Slice::copy(::rtsp::write(response)));
    work_.reset();
    record_unserved();
}

std::unique_ptr<runtime::ByteStream> Connection::stream_of_datagrams() {
    DatagramStream::Targets targets;
    const base::IpAddress address = *base::IpAddress::parse(ip());
    size_t next = 0;
    for (size_t track = 0; track < work_->tracks.size(); ++track) {
        const auto* chosen = session_.chosen(track);
        if (chosen) targets[next++] = {{address, chosen->client_ports.rtp}, {address, chosen->client_ports.rtcp}};
    }
    return std::make_unique<DatagramStream>(std::move(work_->socket), *service_.udp_ports(), targets);
}

// A count that goes back adds nothing, so that a player can state each lost packet once.
void Connection::on_player_report(size_t track, std::span<const uint8_t> bytes) {
    ReportedLoss loss;
    (void)rtcp::parse(bytes, loss);
    if (track >= lost_->size()) return;
    uint32_t& counted = (*lost_)[track];
    if (loss.packets <= counted) return;
    rtsp_stats().player_lost += loss.packets - counted;
    counted = loss.packets;
}

void Connection::on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id());
    while (viewer.joined()) {
        size_t used = 0;
        const auto step = reader_.feed(bytes, used);
        bytes = bytes.subspan(used);
        if (step == ::rtsp::Reader::Step::kNeedMore) {
            if (auto counted = count_input(); !counted) viewer.abort(counted.error().text(), CloseReason::kFlood);
            return;
        }
        if (step == ::rtsp::Reader::Step::kError)
            return viewer.abort(reader_.error_text(), CloseReason::kProtocolError);
        if (step == ::rtsp::Reader::Step::kInterleaved) continue;  // receiver reports: over TCP nothing is lost
        const Message request = reader_.take_message();
        if (request.is_request) on_request(request);
    }
}

void Connection::on_request(const Message& request) {
    heard_ms_ = runtime::now_ms();
    const auto before = session_.state();
    const Message response = respond(request);
    // Nothing of the stream may follow the answer to PAUSE and TEARDOWN.
    if (before != session_.state() && session_.state() == ::rtsp::ServerSession::State::kReady)
        viewer_->set_paused(true);
    record_unserved();
    const bool tears_down = request.method == ::rtsp::Method::kTeardown && response.status == 200;
    if (tears_down) viewer_->set_paused(true);
    viewer_->send_control(base::Slice::copy(::rtsp::write(response)));
    if (!viewer_->joined()) return;
    if (tears_down) return viewer_->finish("closed by the client (TEARDOWN)", CloseReason::kPeerClosed);
    if (before != session_.state() && session_.state() == ::rtsp::ServerSession::State::kPlaying)
        viewer_->set_paused(false);
}

void Connection::on_stream_end(live::Viewer&) {}

void Connection::on_viewer_end(live::Viewer& viewer, std::string_view why) {
    runtime::ContextScope scope(id());
    grant_.end(traffic());
    log_end(viewer.end_text(why), viewer.close_reason());
    service_.remove(*this);
}

}  // namespace service::rtsp
