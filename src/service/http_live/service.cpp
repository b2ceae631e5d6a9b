#include "service/http_live/service.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "convert/flv/all_tracks.h"
#include "live/hub/leases.h"
#include "live/hub/options.h"
#include "net/access/access_rules.h"
#include "net/http/http_visitor.h"
#include "protocol/http/via.h"
#include "protocol/ts/program.h"
#include "protocol/websocket/handshake.h"
#include "runtime/loop/coroutine.h"
#include "service/await_stream.h"
#include "service/http_live/config.h"
#include "service/http_live/encoders.h"
#include "service/relay/path.h"

namespace service::http_live {

namespace {

convert::FlvOptions flv_options(const VhostConfig& remux) {
    return {remux.guess_has_av, remux.has_audio, remux.has_video, remux.drop_if_not_match};
}

// Why the stream is not available in that format; empty: it is, as far as is known.
std::string_view unsupported_reason(const live::Stream& stream, Format format) {
    const media::TrackSet& tracks = *stream.tracks();
    const auto lacks = [&](media::Codec codec) { return tracks.audio() && !tracks.first_audio(codec); };
    if (format == Format::kAac && lacks(media::Codec::kAac)) return "the stream's audio is not AAC";
    if (format == Format::kMp3 && lacks(media::Codec::kMp3)) return "the stream's audio is not MP3";
    const auto is_carried = [](const media::Track& track) { return ts::carries(track.codec); };
    if (format == Format::kTs && tracks.video() && !tracks.first(media::Kind::kVideo, is_carried))
        return "MPEG-TS does not carry this stream's video codec";
    return {};
}

// Files of that name have been looked for by now.
base::Result<void> refuse_unknown_vhost(const net::HttpRequest& request, net::HttpResponse& response) {
    const std::string& path = request.message.path;
    const auto ends = [&](std::string_view suffix) { return path.ends_with(suffix); };
    if (!ends(".flv") && !ends(".ts") && !ends(".aac") && !ends(".mp3")) return {};
    const std::string_view name = net::vhost_name(request.message);
    return response.send_error(404, fmt::format("there is no vhost {}", base::for_log(name)));
}

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
                 net::HttpRouter& router, net::Gate& gate, const Offers& offers)
    : snapshot_(std::move(snapshot)), sessions_(sessions), registry_(registry), gate_(gate), offers_(offers) {
    auto add = [&](When when, bool is_fallback, const char* summary) {
        net::HttpRoute route;
        route.methods = {http::Method::kGet};
        route.pattern = "/*";
        route.summary = summary;
        route.is_fallback = is_fallback;
        route.handler = [this, when](net::HttpRequest& request, net::HttpResponse& response) {
            return handle(when, request, response);
        };
        router.add(std::move(route));
    };
    add(When::kPublished, false,
        "A live stream as FLV (over HTTP or WebSocket), MPEG-TS, AAC or MP3, at the vhost's http_remux.mount");
    add(When::kLater, true, "The same, once it is published");
}

Service::~Service() { stop(); }

base::Result<void> Service::handle(When when, net::HttpRequest& request, net::HttpResponse& response) {
    config::SnapshotPtr snapshot = snapshot_;  // keeps vhost alive
    const config::Vhost* vhost = snapshot->vhost(net::vhost_name(request.message));
    if (!vhost) return when == When::kLater ? refuse_unknown_vhost(request, response) : base::Result<void>();
    const auto& remux = vhost->get<VhostConfig>();
    if (!remux.enabled) return {};
    Mount mount(remux.mount);
    if (!mount.host().empty() && mount.host() != net::vhost_name(request.message)) return {};
    auto match = mount.match(request.message.path);
    if (!match) return {};
    if (when == When::kPublished) {
        if (!find_stream(*vhost, *match)) return {};
    } else {
        if (request.is_head()) return {};
        if (!remux.wait_publisher && !offers_.is_fetched({vhost->name, match->app, match->stream})) return {};
        // A player of an expired segment gets its 404 at once.
        const auto is_segment = [&](const SegmentOffer& offer) {
            return offer.is_segment(*vhost, request.message.path);
        };
        if (match->format == Format::kTs && std::ranges::any_of(offers_.segments, is_segment)) return {};
    }
    return play(when, request, response, *vhost, *match);
}

// Null: the stream is not published.
base::Ref<live::Stream> Service::find_stream(const config::Vhost& vhost, const MountMatch& match) {
    auto stream = registry_.find({vhost.name, match.app, match.stream});
    if (!stream) return {};
    // A publisher that left may return: until its viewers are ended, others may join them.
    const bool comes_back = stream->unpublished_since_ms() > 0 && stream->viewer_count() > 0;
    return stream->published() || comes_back ? stream : base::Ref<live::Stream>();
}

base::Result<base::Ref<live::Stream>> Service::await_published(const net::HttpRequest& request,
                                                               net::HttpResponse& response, const config::Vhost& vhost,
                                                               const MountMatch& match) {
    const live::StreamKey key{vhost.name, match.app, match.stream};
    const auto& remux = vhost.get<VhostConfig>();
    auto stream = registry_.find_or_create(key, live::live_options(vhost));
    const live::PlayerLease waits(stream);
    TRY(await_stream(*stream, {.sessions = sessions_,
                               .offers = offers_,
                               .ip = request.peer_ip,
                               .client = response.client(),
                               .may_wait = [this] { return !stopping_; },
                               .for_publisher = remux.wait_publisher,
                               .limit_ms = remux.wait_publisher ? remux.wait_publisher_timeout : kFetchedWithinMs}));
    return stream;
}

// Redirects to the server that has the stream, if the vhost says so. Its hooks are asked about the player, not ours.
base::Result<void> Service::redirect(const net::HttpRequest& request, net::HttpResponse& response,
                                     const config::Vhost& vhost, const MountMatch& match) {
    Locator* locator = offers_.locator;
    if (!locator || !locator->redirects(vhost, true)) return {};
    // One who may not play is refused later, with the reason.
    if (!net::check_play(vhost, request.peer_ip, net::page_of(request.message.headers))) return {};
    const std::string server = locator->redirect({vhost.name, match.app, match.stream}, true);
    if (server.empty()) return {};
    return response.redirect(302, http_redirect(server, request.message, vhost.name));
}

base::Result<void> Service::play(When when, net::HttpRequest& request, net::HttpResponse& response,
                                 const config::Vhost& vhost, const MountMatch& match) {
    auto stream = find_stream(vhost, match);
    if (stream)
        if (auto reason = unsupported_reason(*stream, match.format); !reason.empty())
            return response.send_error(404, reason);

    bool websocket = websocket::is_upgrade(request.message);
    if (websocket) {
        auto refusal = websocket::check_upgrade(request.message);
        if (refusal.status == 426) response.header("Sec-WebSocket-Version", "13").header("Upgrade", "websocket");
        if (refusal.status) return response.send_error(refusal.status, refusal.why);
    } else {
        response.header("Cache-Control", "no-cache, no-store").header("Pragma", "no-cache");
        if (request.is_head()) return response.send_head(200, content_type(match.format));
        // Browsers do not follow a redirect of a WebSocket.
        if (!stream) TRY(redirect(request, response, vhost, match));
        if (response.started()) return {};
    }
    const net::Visitor visitor = net::http_visitor(request, request.session_id, {vhost.name, match.app, match.stream},
                                                   net::SessionType::kFlvPlay);
    auto grant = gate_.admit(visitor, vhost, response.client());
    if (!grant) {
        if (grant.error().code() == base::Code::kCancelled) return std::unexpected(std::move(grant.error()));
        net::record_refusal(sessions_, visitor, grant.error());
        return response.send_error(403, grant.error().text());
    }
    // The stream may have ended or begun while a guard was asked.
    stream = find_stream(vhost, match);
    if (!stream && when == When::kLater) {
        auto published = await_published(request, response, vhost, match);
        if (!published && published.error().code() == base::Code::kCancelled)
            return std::unexpected(std::move(published.error()));
        if (!published) return response.send_error(404, published.error().text());
        stream = *std::move(published);
    }
    if (!stream) return response.send_error(404, "the stream has ended");
    if (!visitor.forward_path.empty()) {
        // The client is another server, which recognizes itself there.
        response.header("Via", http::via_of_path(relay::path_through(*stream, registry_)));
    }
    auto taken = TRY(websocket ? response.upgrade() : response.detach(200, content_type(match.format)));
    if (websocket)
        taken.first = websocket::upgrade_response(request.message, response.date(), response.options().server_name);
    LiveViewerOwner& owner = *this;
    LiveViewer& viewer = viewers_.add(
        std::make_unique<LiveViewer>(owner, sessions_, request.session_id, request.peer_ip, taken.past, stream,
                                     *std::move(grant), websocket, visitor, protocol_name(match.format, websocket)));
    convert::FlvOptions options = flv_options(vhost.get<VhostConfig>());
    options.all_tracks = convert::asks_for_all_tracks(request.message.parameters);
    viewer.join(log_key(match.format, options, websocket), std::move(taken.stream), taken.first, taken.early);
    return {};
}

void Service::stop_accepting() {
    stopping_ = true;
    registry_.wake_waiting();
}

void Service::viewer_ended(LiveViewer& viewer) { viewers_.remove(viewer); }

void Service::stop() {
    for (auto& viewer : viewers_) viewer->stop();
    // A coroutine of the engine reports their ends soon.
    while (!viewers_.empty() && runtime::yield()) {
    }
}

}  // namespace service::http_live
