// The HTTP side of the service.

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "live/hub/leases.h"
#include "live/hub/options.h"
#include "net/access/access_rules.h"
#include "net/http/http_dispatch.h"
#include "net/http/http_visitor.h"
#include "net/http/serve_resource.h"
#include "protocol/http/timestamp.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "service/await_stream.h"
#include "service/hls/config.h"
#include "service/hls/service.h"
#include "service/hls/serving/serve.h"

namespace service::hls {

namespace {

// A viewer without a request for this many target durations has left; most players request once in each.
constexpr int64_t kIdleTargets = 3;
constexpr int64_t kMinIdleMs = 10'000;

// Whether anything decides who may play: caches that viewers share must not have what is played then.
bool guards_play(const net::Gate& gate, const config::Vhost& vhost) {
    return vhost.security.enabled || vhost.refer.enabled || gate.guards_parts(vhost) ||
           gate.may_yield(net::Action::kPlay, vhost);
}

// The stream, or the variants that a group of that name has by its configuration.
std::vector<live::StreamKey> streams_of(const VhostConfig& hls, const live::StreamKey& named) {
    std::vector<live::StreamKey> variants = hls.variant_groups.members(named);
    return variants.empty() ? std::vector{named} : variants;
}

// A request without a context is of no viewer in particular.
net::FileViewers::Name viewer_name(const live::StreamKey& stream, std::string_view context) {
    if (context.empty()) return {};
    return {stream.text(), std::string(context)};
}

// Where another process serves: what that one alone may have. Playlists on disk are what it writes, but for what low
// latency adds. HTTP-TS is called as segments are.
bool is_elsewhere(std::string_view path, const VhostConfig& hls) {
    const bool is_playlist = path.ends_with(".m3u8") || path.ends_with(".mpd");
    if (is_playlist) return hls.enabled && hls.has_parts();
    constexpr std::string_view kEnds[] = {".ts", ".m4s", ".mp4", ".key"};
    return std::ranges::any_of(kEnds, [path](std::string_view end) { return path.ends_with(end); });
}

}  // namespace

std::shared_ptr<Output> Service::find_output(std::string_view vhost, std::string_view path) const {
    auto found = urls_.find(url_of(vhost, path));
    return found == urls_.end() ? nullptr : found->second.lock();
}

// No other stream's playlist has such a name (names.h). The path of a group may be that of a stream, which keeps it for
// viewers who have a context; where there is none, for all.
Service::Playlist Service::find_playlist(const config::Vhost& vhost, const std::string& path, bool has_context) const {
    auto output = path.ends_with('/') ? nullptr : find_output(vhost.name, path);
    const bool is_streams = output && (has_context || !output->hls().ctx);
    if (auto group = is_streams ? nullptr : groups_.at(vhost.name, path)) {
        const bool is_manifest = path == group->manifest_path;
        Playlist found{{}, std::move(group), !is_manifest, path};
        if (!found.outputs().empty()) return found;
    }
    if (output) return {std::move(output), {}, false, path};
    const std::string main_path = without_suffix(path);
    if (main_path == path) return {};
    output = find_output(vhost.name, main_path);
    if (!output || !output->has_view()) return {};
    if (output->has_audio_group() && path == output->paths().master()) return {std::move(output), {}, true, path};
    const Rendition* rendition = output->rendition(path);
    return rendition && rendition->has_view() ? Playlist{std::move(output), {}, false, path} : Playlist();
}

std::vector<std::shared_ptr<Output>> Service::Playlist::outputs() const {
    using enum VariantGroup::Format;
    if (group) return group->listed(runtime::now_ms(), is_manifest() ? kDash : kHls);
    return output->serves(path) ? std::vector{output} : std::vector<std::shared_ptr<Output>>();
}

const live::StreamKey& Service::viewed(const live::StreamKey& stream, std::string_view context) const {
    const auto group = context.empty() ? nullptr : groups_.of(stream);
    return !group || viewers_.knows(viewer_name(stream, context)) ? stream : *group->key;
}

bool Service::is_replaced(const Output& output) const {
    const auto group = output.is_current() ? nullptr : groups_.of(output.key());
    return group && group->others_are_current(output);
}

// A viewer may change to another variant at any time, so all of them are fetched as long as one is asked for.
void Service::expect_players(Output& output) {
    const int64_t until_ms = runtime::now_ms() + idle_ms(output);
    output.expect_players(until_ms);
    if (const auto group = groups_.of(output.key()))
        group->for_each([&](Output& other) { other.expect_players(until_ms); });
}

base::Result<void> Service::handle(net::HttpRequest& request, net::HttpResponse& response) {
    config::SnapshotPtr snapshot = snapshot_;
    const config::Vhost* vhost = snapshot->vhost(net::vhost_name(request.message));
    if (!vhost) return {};
    return serve_live_file(*vhost, path_below(*vhost, request.message.path), request, response);
}

base::Result<void> Service::explain_missing(net::HttpRequest& request, net::HttpResponse& response) {
    const bool is_dash = request.message.path.ends_with(".mpd");
    if (given_over_) return {};
    if (!is_dash && !request.message.path.ends_with(".m3u8")) return {};
    const std::string_view name = net::vhost_name(request.message);
    const config::Vhost* vhost = snapshot_->vhost(name);
    response.header("Cache-Control", "no-store");
    if (!vhost) return response.send_error(404, fmt::format("there is no vhost {}", base::for_log(name)));
    if (is_dash ? !vhost->get<DashConfig>().enabled : !vhost->get<VhostConfig>().enabled)
        return response.send_error(404, fmt::format("vhost {} has no {}", vhost->name, is_dash ? "DASH" : "HLS"));
    return response.send_error(404, "the stream is not published");
}

base::Result<void> Service::serve_live_file(const config::Vhost& vhost, const std::string& path,
                                            const net::HttpRequest& request, net::HttpResponse& response) {
    std::string_view context = request.message.parameter("hls_ctx");
    auto resource = resources_.find(vhost.name, path);
    const Playlist asked = resource ? Playlist() : find_playlist(vhost, path, !context.empty());
    const auto announced = resource || asked ? nullptr : resources_.announced(vhost.name, path);
    // The gate is asked once per viewer; address and page are checked for each request.
    auto allowed = net::check_play(vhost, request.peer_ip, net::page_of(request.message.headers));
    if ((resource || asked || announced) && !allowed) return net::send_refusal(std::move(allowed.error()), response);
    if (resource || announced) {
        const auto& stream = resource ? resource->stream : announced->stream;
        const auto viewer =
            context.empty() || !stream ? net::FileViewers::Name() : viewer_name(viewed(*stream, context), context);
        if (auto may = viewers_.check_file(viewer, vhost); !may)
            return net::send_refusal(std::move(may.error()), response);
        if (stream) viewers_.count(viewer, stream, request, response);
        const bool is_private = guards_play(gate_, vhost);
        if (announced) return net::serve_announced(announced, path, is_private, request, response);
        TRY(net::serve_resource(resource, path, is_private, request, response));
        if (!response.started()) {
            // The file has been removed. The 404 must not be cached like a segment.
            response.header("Cache-Control", "no-store");
            return response.send_error(404);
        }
        return {};
    }
    if (!asked) {
        const auto dash = find_output(vhost.name, path.substr(0, path.rfind('/') + 1));
        if (dash && !allowed) return net::send_refusal(std::move(allowed.error()), response);
        if (dash && path == dash->dash()->directory() + "time") {
            response.header("Cache-Control", "no-store");
            return response.send(200, "text/plain", http::format_timestamp(base::wall_ms()));
        }
    }
    const auto& hls = vhost.get<VhostConfig>();
    const bool has_files = hls.enabled || vhost.get<DashConfig>().enabled;
    if (given_over_ && has_files && is_elsewhere(path, hls) && !request.is_of_other_process)
        return net::HttpDispatch::send_elsewhere(response, request);
    // One that is not hinted yet, or is gone.
    if (hls.enabled && hls.has_parts() && is_part(path))
        return net::send_answer(*net::error_answer(404, "there is no such part"), response);
    if (asked && (asked.group || asked.output->serves(path) || is_replaced(*asked.output)))
        return playlist(asked, vhost, request, response);
    if (!asked && allowed) TRY(redirect(vhost, path, request, response));
    if (response.started()) return {};
    TRY(await_fetched(vhost, path, request, response));
    if (response.started()) return {};
    const Playlist come = find_playlist(vhost, path, !context.empty());
    return come ? playlist(come, vhost, request, response) : base::Result<void>();
}

// Redirects to the server that has the stream, if the vhost says so.
base::Result<void> Service::redirect(const config::Vhost& vhost, const std::string& path,
                                     const net::HttpRequest& request, net::HttpResponse& response) {
    Locator* locator = offers_.locator;
    if (!locator || !locator->redirects(vhost, true) || without_suffix(path) != path) return {};
    const auto named = stream_of(vhost, path);
    if (!named) return {};
    std::string server;
    for (const live::StreamKey& stream : streams_of(vhost.get<VhostConfig>(), *named))
        if (server = locator->redirect(stream, true); !server.empty()) break;
    if (server.empty()) return {};
    response.header("Cache-Control", "no-store");
    return response.redirect(302, http_redirect(server, request.message, vhost.name));
}

// What has to be there for the path, which is of the stream or of the group that is called so.
base::Result<std::vector<Service::Fetched>> Service::fetched_for(const config::Vhost& vhost,
                                                                 const live::StreamKey& named,
                                                                 const std::string& path) const {
    const auto& hls = vhost.get<VhostConfig>();
    const auto members = hls.variant_groups.members(named);
    if (members.empty() || !hls.enabled) return std::vector{Fetched{named, path}};
    const bool is_playlist = stream_of_playlist(hls, vhost.name, path).has_value();
    std::vector<Fetched> all;
    for (const live::StreamKey& member : members) {
        const auto paths = TRY(SegmentPaths::make(hls, member, snapshot_->global.utc_time));
        const OutputOptions options = output_options(member, vhost);
        all.push_back({member, is_playlist ? paths.playlist() : TRY(Dash::manifest_path_of(options))});
    }
    return all;
}

// The first request for a stream has it fetched, when its client is admitted; the player gets the playlist when the
// first segment is complete.
base::Result<void> Service::await_fetched(const config::Vhost& vhost, const std::string& path,
                                          const net::HttpRequest& request, net::HttpResponse& response) {
    const auto& hls = vhost.get<VhostConfig>();
    if (draining_ || given_over_ || request.is_head() || without_suffix(path) != path) return {};
    const auto named = stream_of(vhost, path);
    if (!named) return {};
    const std::vector<Fetched> fetched = TRY(fetched_for(vhost, *named, path));
    if (std::ranges::none_of(fetched, [&](const Fetched& one) { return offers_.is_fetched(one.stream); })) return {};
    const std::string_view context = hls.ctx ? request.message.parameter("hls_ctx") : std::string_view();
    if (!context.empty() && !net::FileViewers::is_context(context))
        return response.send_error(400, "hls_ctx is none of ours");
    auto admission = viewers_.admit(*named, context, vhost, request, response.client());
    if (!admission) return net::send_refusal(std::move(admission.error()), response);
    if (!TRY(await_any(fetched, vhost, request, response))) return {};
    const Playlist come = find_playlist(vhost, path, !context.empty());
    if (!come) return {};
    if (!hls.ctx) return send(come, {}, {}, vhost, request, response);
    const std::string id = admission->id();
    const net::FileViewers::Stay stay{idle_ms(come), !context.empty()};
    if (auto kept = viewers_.add(*std::move(admission), stay, vhost); !kept)
        return net::send_refusal(std::move(kept.error()), response);
    return playlist(come, vhost, request, response, id);
}

// Of several the first one that comes is enough, with those that are published by then. False: none has come, and the
// player may have been answered.
base::Result<bool> Service::await_any(const std::vector<Fetched>& all, const config::Vhost& vhost,
                                      const net::HttpRequest& request, net::HttpResponse& response) {
    const double fragment = output_options(all.front().stream, vhost).hls.fragment;
    const auto limit = runtime::Deadline::in_ms(kFetchedWithinMs + static_cast<int64_t>(2'000 * fragment));
    bool has_any = false;
    std::string why;
    for (const Fetched& one : all) {
        const auto known = registry_.find(one.stream);
        if (has_any && !(known && known->published())) continue;
        auto has_come = await_playlist(one, vhost, limit, request, response);
        if (has_come)
            has_any |= *has_come;
        else if (has_come.error().code() == base::Code::kCancelled)
            return has_come;
        else
            why = has_come.error().text();
    }
    if (has_any || why.empty()) return has_any;
    response.header("Cache-Control", "no-store");
    TRY(response.send_error(404, why));
    return false;
}

// Until the first segment is complete, within the limit. False: there is no playlist. An error: there is no stream.
base::Result<bool> Service::await_playlist(const Fetched& fetched, const config::Vhost& vhost, runtime::Deadline limit,
                                           const net::HttpRequest& request, net::HttpResponse& response) {
    const auto stream = registry_.find_or_create(fetched.stream, live::live_options(vhost));
    const live::PlayerLease waits(stream);
    while (!draining_ && !limit.passed()) {
        TRY(await_stream(*stream, {.sessions = sessions_,
                                   .offers = offers_,
                                   .ip = request.peer_ip,
                                   .client = response.client(),
                                   .may_wait = [this] { return !draining_; }}));
        const auto output = find_output(vhost.name, fetched.path);
        if (!output || output->serves(fetched.path)) return output != nullptr;
        const runtime::EndWatch watch(response.client());
        if (auto waited = output->await_segment(limit); !waited && waited.error().code() != base::Code::kTimeout)
            return std::unexpected(std::move(waited.error()));
    }
    return false;
}

int64_t Service::idle_ms(const Output& output) {
    return std::max(kMinIdleMs, output.target_s() * 1'000 * kIdleTargets);
}

int64_t Service::idle_ms(const Playlist& playlist) {
    if (!playlist.group) return idle_ms(*playlist.output);
    int64_t longest_ms = kMinIdleMs;
    for (const auto& output : playlist.outputs()) longest_ms = std::max(longest_ms, idle_ms(*output));
    return longest_ms;
}

// The first response to a viewer: the multivariant playlist with its id.
base::Result<void> Service::send_master(const Playlist& asked, const net::HttpRequest& request,
                                        net::HttpResponse& response, std::string_view viewer_id) {
    const auto outputs = asked.outputs();
    if (outputs.empty()) return response.send_error(404, "the stream has ended");
    m3u8::MultivariantPlaylist playlist{true, {}};
    for (const auto& output : outputs) {
        if (!request.is_head()) expect_players(*output);
        playlist.variants.push_back(output->variant());
        playlist.independent_segments &= output->independent();
    }
    viewers_.count({}, asked.shared_key(), request, response);
    const SegmentPaths& paths = asked.group ? asked.group->paths : asked.output->paths();
    return serve_playlist(multivariant_text(std::move(playlist), paths.master(), request, viewer_id,
                                            outputs.front()->hls().master_m3u8_path_relative),
                          request, response);
}

// Viewers without a context cannot be told apart: guards that may yield are asked about one only where its request may
// begin something, namely that the stream is fetched again.
base::Result<void> Service::check_without_context(const Playlist& asked, const config::Vhost& vhost,
                                                  const net::HttpRequest& request, runtime::ByteStream* client) {
    net::Visitor visitor = net::http_visitor(request, request.session_id, asked.key(), net::SessionType::kHlsPlay);
    visitor.may_be_known = true;
    const auto outputs = asked.outputs();
    const bool may_fetch = std::ranges::any_of(
        outputs, [&](const auto& output) { return !output->publishing() && offers_.is_fetched(output->key()); });
    if (!may_fetch || request.is_head()) return gate_.check(visitor, vhost);
    if (asked.group) visitor.streams = vhost.get<VhostConfig>().variant_groups.members(asked.key());
    (void)TRY(gate_.admit(std::move(visitor), vhost, client));
    return {};
}

base::Result<void> Service::send(const Playlist& asked, const net::FileViewers::Name& viewer,
                                 const std::string& viewer_id, const config::Vhost& vhost,
                                 const net::HttpRequest& request, net::HttpResponse& response) {
    const bool is_private = guards_play(gate_, vhost);
    if (asked.is_manifest()) return manifest(asked, viewer_id, is_private, request, response);
    const bool is_first = !viewer_id.empty() && viewer.context.empty();
    if (asked.master || is_first) return send_master(asked, request, response, viewer_id);
    Rendition* rendition = asked.output->rendition(asked.path);
    const auto view = rendition ? rendition->view() : nullptr;
    if (!view) return response.send_error(404, "the stream has ended");
    expect_players(*asked.output);
    viewers_.count(viewer, asked.shared_key(), request, response);
    PlaylistForm form{.is_private = is_private};
    if (!viewer_id.empty()) {
        form.query = "?hls_ctx=" + viewer_id;
        // All who wait are sent one text, except where a segment is only for those who are known.
        form.all_uris = asked.output->hls().ts_ctx && (!view->takes_directives() || gate_.guards_parts(vhost));
    }
    if (view->takes_directives()) return rendition->reloads().serve(*view, std::move(form), request, response);
    return serve_playlist(*view, std::move(form), request, response);
}

base::Result<void> Service::playlist(const Playlist& asked, const config::Vhost& vhost, const net::HttpRequest& request,
                                     net::HttpResponse& response, std::string viewer_id) {
    const std::shared_ptr<Output>& output = asked.output;
    if (output && is_replaced(*output)) {
        response.header("Cache-Control", "max-age=1");
        return response.send_error(404,
                                   fmt::format("{} is not published, but other variants are", output->key().text()));
    }
    if (output && !output->serves(asked.path)) {
        if (!output->publishing()) return {};
        response.header("Cache-Control", "no-store").header("Retry-After", "1");
        return response.send_error(404, fmt::format("{} is published, its first {} segment is not complete yet",
                                                    output->key().text(), asked.is_manifest() ? "DASH" : "HLS"));
    }
    if (!(output ? output->hls() : vhost.get<VhostConfig>()).ctx) {
        if (auto checked = check_without_context(asked, vhost, request, response.client()); !checked)
            return net::send_refusal(std::move(checked.error()), response);
        return send(asked, {}, {}, vhost, request, response);
    }
    // The multivariant playlist gives a viewer its id, as the first manifest does.
    const std::string_view sent = asked.master ? std::string_view() : request.message.parameter("hls_ctx");
    live::StreamKey key = sent.empty() || asked.is_manifest() ? asked.key() : viewed(output->key(), sent);
    if (draining_ && !viewers_.is_viewer(viewer_name(key, request.message.parameter("hls_ctx")))) {
        response.header("Cache-Control", "no-store").header("Retry-After", "5");
        return response.send_error(503, "the server ends");
    }
    if (!sent.empty() && !net::FileViewers::is_context(sent))
        return response.send_error(400, "hls_ctx is none of ours");
    if (viewer_id.empty()) {
        // Where segments are only for those who are known, the first manifest makes it one.
        const bool always = !sent.empty() || (asked.is_manifest() && gate_.guards_parts(vhost));
        const auto let_in = [&] {
            return viewers_.let_in(key, sent, {idle_ms(asked), always}, vhost, request, response.client());
        };
        auto id = let_in();
        // One that an earlier run knew may have been admitted to the variant, and not to its group.
        if (!id && output && !sent.empty() && id.error().code() == base::Code::kRefused &&
            !viewers_.knows(viewer_name(key, sent))) {
            key = output->key();
            id = let_in();
        }
        if (!id) return net::send_refusal(std::move(id.error()), response);
        viewer_id = *std::move(id);
    }
    return send(asked, viewer_name(key, sent), viewer_id, vhost, request, response);
}

}  // namespace service::hls
