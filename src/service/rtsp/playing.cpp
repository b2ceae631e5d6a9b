// A Connection that is going to play: DESCRIBE, SETUP and PLAY. DESCRIBE and SETUP may ask a guard and wait for tracks,
// so they yield. SETUP is that of publishers, too.

#include <fmt/core.h>

#include "base/text.h"
#include "live/fanout/live_log.h"
#include "live/hub/options.h"
#include "protocol/http/via.h"
#include "protocol/rtsp/headers.h"
#include "protocol/rtsp/transport.h"
#include "protocol/sdp/session/control.h"
#include "protocol/sdp/session/write.h"
#include "runtime/loop/clock.h"
#include "service/relay/path.h"
#include "service/rtsp/address.h"
#include "service/rtsp/camera.h"
#include "service/rtsp/config.h"
#include "service/rtsp/connection.h"
#include "service/rtsp/interleaved.h"
#include "service/rtsp/random.h"
#include "service/rtsp/service.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
using base::Result;

namespace {

// Logs of players of a stream that chose channels of their own, whose bytes nobody shares.
constexpr size_t kMaxUncommonLogs = 4;

// How long DESCRIBE waits for a stream that is fetched, and for its tracks.
constexpr int64_t kPublishedMs = 10'000, kTracksMs = 5'000;

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

}  // namespace

bool Connection::has_description_of(std::string_view url) const {
    return stream_ && work_->frames && sdp::same_url(url_, url);
}

Result<Connection::Place> Connection::find_place(const std::string& url, const config::Snapshot& snapshot) const {
    auto address = resolve(url);
    if (!address) return base::fail(CloseReason::kNotFound, address.error().text());
    const config::Vhost* vhost = snapshot.vhost(address->vhost);
    if (!vhost || !vhost->get<VhostConfig>().enabled)
        return base::fail(CloseReason::kNotFound, fmt::format("vhost {} is not there, or RTSP is not enabled in it",
                                                              base::for_log(address->vhost)));
    return Place{vhost, {vhost->name, address->app, address->stream}, address->params};
}

// What RTMP has in tcUrl: the URL without the stream's name and its parameters.
std::string Connection::tc_url_of(const std::string& url) {
    const std::string path = url.substr(0, url.find('?'));
    return path.substr(0, path.rfind('/'));
}

net::Visitor Connection::visitor(net::Action action, const Place& place, const std::string& url) const {
    net::Visitor visitor;
    visitor.action = action;
    visitor.type = action == net::Action::kPlay ? rtsp_play_type() : rtsp_publish_type();
    visitor.id = id();
    visitor.ip = ip();
    visitor.vhost = place.key.vhost;
    visitor.app = place.key.app;
    visitor.stream = place.key.name;
    visitor.param = place.params;
    visitor.tc_url = tc_url_of(url);
    return visitor;
}

// One that is fetched is waited for. Yields.
Result<base::Ref<live::Stream>> Connection::await_published(const Place& place) {
    if (auto stream = service_.registry().find(place.key); stream && stream->published()) return stream;
    if (!service_.is_fetched(place.key)) return base::fail(CloseReason::kNotFound, "the stream is not published");
    auto stream = service_.registry().find_or_create(place.key, live::live_options(*place.vhost));
    const live::PlayerLease waits(stream);
    TRY(stream->await(live::Awaited::kPublished, runtime::Deadline::in_ms(kPublishedMs),
                      {work_->socket.get(), [&] { return service_.is_fetched(place.key); }}));
    return stream;
}

// Yields.
Result<void> Connection::await_tracks(live::Stream& stream) {
    const live::PlayerLease waits{base::Ref<live::Stream>(&stream)};
    const auto may_wait = [&] { return stream.published() || service_.is_fetched(stream.key()); };
    return stream.await(live::Awaited::kTracks, runtime::Deadline::in_ms(kTracksMs), {work_->socket.get(), may_wait});
}

// Asks the gate and waits for the stream's tracks. url: of the whole stream. Yields.
Result<void> Connection::open_stream(const std::string& url) {
    if (has_description_of(url)) return {};
    if (session_.state() != ::rtsp::ServerSession::State::kInit)
        return base::fail(Code::kRefused, "the session has begun with another stream");
    const config::SnapshotPtr snapshot = service_.snapshot();
    const Place place = TRY(find_place(url, *snapshot));
    auto grant = TRY(service_.gate().admit(visitor(net::Action::kPlay, place, url), *place.vhost, work_->socket.get()));
    auto stream = TRY(await_published(place));
    const net::StreamAccount* account = service_.sessions().accounts().find(place.key);
    const bool by_rtsp = account && account->publisher() && is_rtsp(account->publisher()->type());
    if (!by_rtsp && !place.vhost->get<VhostConfig>().rtmp_to_rtsp)
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
    params_ = place.params;
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
std::string_view Connection::lack_of_channels(size_t track, const ::rtsp::Channels& channels) const {
    if (channels.rtcp != channels.rtp + 1) return "RTCP needs the channel after that of RTP";
    if (channels.rtp != 2 * track && uncommon_logs(*stream_) >= kMaxUncommonLogs)
        return "too many choices of channels: use 0-1 for the first track, 2-3 for the second";
    return {};
}

// Of a track by UDP, in place of those that it has. Empty: they are claimed.
std::string_view Connection::claim_ports(size_t track, ::rtsp::ServerSession::Chosen& chosen) {
    const auto address = base::IpAddress::parse(ip());
    if (!address) return "UDP to an address with a zone is not offered";
    UdpPorts& ports = *service_.udp_ports();
    if (!ports.is_free_for(*this, track, *address, chosen.client_ports)) return "another session has these ports";
    release_ports(track);
    ports.claim(*this, track, *address, chosen.client_ports);
    claimed_ |= static_cast<uint8_t>(1u << track);
    chosen.server_ports = ports.ports();
    return {};
}

// What a transport needs becomes the track's. Not empty: why not, and the track has what it had.
std::string_view Connection::reserve(size_t track, ::rtsp::ServerSession::Chosen& chosen) {
    if (!chosen.tcp) return claim_ports(track, chosen);
    if (!is_publisher())
        if (const std::string_view lack = lack_of_channels(track, chosen.channels); !lack.empty()) return lack;
    release_ports(track);
    return {};
}

void Connection::release_ports(size_t track) {
    if (!(claimed_ >> track & 1)) return;
    claimed_ &= static_cast<uint8_t>(~(1u << track));
    service_.udp_ports()->release(*base::IpAddress::parse(ip()), session_.chosen(track)->client_ports);
}

bool Connection::is_publisher() const { return stream_ && work_->vhost; }

// Nothing: the URL names the whole session, which has several tracks, or none of an announced session.
std::optional<size_t> Connection::track_of(const std::string& url) const {
    if (is_publisher()) return sdp::find_track(work_->announced, url);
    const TrackUrl split = split_track(url);
    if (!split.track && work_->tracks.size() > 1) return std::nullopt;
    return split.track.value_or(0);
}

Connection::Message Connection::setup(const Message& request) {
    auto list = ::rtsp::parse_transports(request.headers.get("Transport"));
    if (!list) return response_to(request, 400, list.error().text());
    if (!is_publisher())
        if (auto opened = open_stream(split_track(request.url).base); !opened)
            return refusal(request, "play", opened.error());
    const auto named = track_of(request.url);
    if (!named) return response_to(request, 459, "the URL of a track is needed, as the description has it");
    const size_t track = *named;
    const bool offers_udp = service_.udp_ports() && !work_->socket->is_tls();
    auto choice = session_.choose(track, *list, {.tcp = true, .udp = offers_udp});
    if (!choice.outcome) return response_to(request, choice.outcome.status, choice.outcome.why);
    if (const std::string_view lack = reserve(track, choice.chosen); !lack.empty())
        return response_to(request, 461, lack);
    session_.set_up(track, choice.chosen);
    if (session_id_.empty()) session_id_ = random_hex(7);
    Message response = response_to(request);
    response.headers.add("Transport", ::rtsp::write(session_.transport(track)));
    return response;
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

}  // namespace service::rtsp
