// The HTTP side of the service.

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "live/hub/options.h"
#include "net/access/access_rules.h"
#include "net/http/http_visitor.h"
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

std::string_view without_slashes(std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    return path;
}

// The path below hls_path: files are at the root of the server, and where http_static mounts hls_path.
std::string path_below(const config::Vhost& vhost, std::string_view path) {
    const config::VhostHttpStatic& files = vhost.http_static;
    if (files.enabled && without_slashes(files.dir) == without_slashes(vhost.get<VhostConfig>().path)) {
        std::string_view mount = files.mount;
        mount.remove_prefix(std::min(mount.find('/'), mount.size()));
        mount = without_slashes(mount);
        if (!mount.empty() && path.starts_with(mount) && path.substr(mount.size()).starts_with('/'))
            path.remove_prefix(mount.size());
    }
    while (path.starts_with('/')) path.remove_prefix(1);
    return std::string(path);
}

// Whether anything decides who may play: caches that viewers share must not have what is played then.
bool guards_play(const net::Gate& gate, const config::Vhost& vhost) {
    return vhost.security.enabled || vhost.refer.enabled || gate.guards_parts(vhost) ||
           gate.may_yield(net::Action::kPlay, vhost);
}

ViewerName viewer_name(const live::StreamKey* stream, std::string_view context) {
    return {stream ? stream->text() : std::string(), std::string(context)};
}

std::shared_ptr<const live::StreamKey> key_of(const std::shared_ptr<Output>& output) {
    return {output, &output->key()};
}

}  // namespace

std::shared_ptr<Output> Service::find_output(std::string_view vhost, std::string_view path) const {
    auto found = urls_.find(url_of(vhost, path));
    return found == urls_.end() ? nullptr : found->second.lock();
}

// No other stream's playlist has such a name (names.h).
Service::Playlist Service::find_playlist(std::string_view vhost, const std::string& path) const {
    if (auto output = find_output(vhost, path)) return {std::move(output), false, path};
    const std::string main_path = without_suffix(path);
    if (main_path == path) return {};
    auto output = find_output(vhost, main_path);
    if (!output || !output->view()) return {};
    if (output->has_audio_group() && path == output->paths().master()) return {std::move(output), true, path};
    const Rendition* rendition = output->rendition(path);
    return rendition && rendition->view() ? Playlist{std::move(output), false, path} : Playlist();
}

base::Result<void> Service::handle(net::HttpRequest& request, net::HttpResponse& response) {
    config::SnapshotPtr snapshot = snapshot_;
    const config::Vhost* vhost = snapshot->vhost(net::vhost_name(request.message));
    if (!vhost) return {};
    return serve_live_file(*vhost, path_below(*vhost, request.message.path), request, response);
}

base::Result<void> Service::explain_missing(net::HttpRequest& request, net::HttpResponse& response) {
    if (!request.message.path.ends_with(".m3u8")) return {};
    const std::string_view name = net::vhost_name(request.message);
    const config::Vhost* vhost = snapshot_->vhost(name);
    response.header("Cache-Control", "no-store");
    if (!vhost) return response.send_error(404, fmt::format("there is no vhost {}", base::for_log(name)));
    if (!vhost->get<VhostConfig>().enabled)
        return response.send_error(404, fmt::format("vhost {} has no HLS", vhost->name));
    return response.send_error(404, "the stream is not published");
}

base::Result<void> Service::serve_live_file(const config::Vhost& vhost, const std::string& path,
                                            const net::HttpRequest& request, net::HttpResponse& response) {
    std::string_view context = request.message.parameter("hls_ctx");
    auto resource = index_.find(vhost.name, path);
    const Playlist asked = resource ? Playlist() : find_playlist(vhost.name, path);
    Index::Announced* part = resource || asked.output ? nullptr : index_.announced(vhost.name, path);
    // The gate is asked once per viewer; address and page are checked for each request.
    auto allowed = net::check_play(vhost, request.peer_ip, net::page_of(request.message.headers));
    if ((resource || asked.output || part) && !allowed) return refuse_viewer(allowed.error(), response);
    if (resource || part) {
        const auto& stream = resource ? resource->stream : part->stream;
        // A request without a context is of no viewer in particular.
        const ViewerName viewer = viewer_name(context.empty() ? nullptr : stream.get(), context);
        if (auto may = check_known(viewer, vhost); !may) return refuse_viewer(may.error(), response);
        if (stream) count(viewer, stream, request, response);
        const bool is_private = guards_play(gate_, vhost);
        if (part) return await_part(*part, is_private, response);
        TRY(serve_resource(resource, path, is_private, request, response));
        if (!response.started()) {
            // The file has been removed. The 404 must not be cached like a segment.
            response.header("Cache-Control", "no-store");
            return response.send_error(404);
        }
        return {};
    }
    // One that is not hinted yet, or is gone.
    const auto& hls = vhost.get<VhostConfig>();
    if (hls.enabled && hls.has_parts() && is_part(path))
        return send_answer(*error_answer(404, "there is no such part"), response);
    if (asked.output && asked.output->view()) return playlist(asked, vhost, request, response);
    if (!asked.output && allowed) TRY(redirect(vhost, path, request, response));
    if (response.started()) return {};
    TRY(await_fetched(vhost, path, request, response));
    if (response.started()) return {};
    const Playlist come = find_playlist(vhost.name, path);
    return come.output ? playlist(come, vhost, request, response) : base::Result<void>();
}

// A viewer may have segments, keys and parts.
base::Result<void> Service::check_known(const ViewerName& viewer, const config::Vhost& vhost) const {
    if (viewers_.banned(viewer)) return base::fail(base::Code::kRefused, "this viewer was ended");
    if (gate_.guards_parts(vhost) && !viewers_.known(viewer))
        return base::fail(base::Code::kRefused, "not without the playlist's hls_ctx");
    return {};
}

// The part that the playlist hints.
base::Result<void> Service::await_part(Index::Announced& part, bool is_private, net::HttpResponse& response) {
    auto request = std::make_unique<AwaitedPart>();
    part.is_private |= is_private;
    part.waiting.add(*request);
    return defer_or_refuse(std::move(request), part.limit_ms, response);
}

// Redirects to the server that has the stream, if the vhost says so.
base::Result<void> Service::redirect(const config::Vhost& vhost, const std::string& path,
                                     const net::HttpRequest& request, net::HttpResponse& response) {
    Locator* locator = offers_.locator;
    const auto& hls = vhost.get<VhostConfig>();
    if (!locator || !hls.enabled || !locator->redirects(vhost, true) || without_suffix(path) != path) return {};
    const auto named = stream_of_playlist(hls, vhost.name, path);
    if (!named) return {};
    const std::string server = locator->redirect(*named, true);
    if (server.empty()) return {};
    response.header("Cache-Control", "no-store");
    return response.redirect(302, http_redirect(server, request.message, vhost.name));
}

// The first request for a stream has it fetched, when its client is admitted; the player gets the playlist when the
// first segment is complete.
base::Result<void> Service::await_fetched(const config::Vhost& vhost, const std::string& path,
                                          const net::HttpRequest& request, net::HttpResponse& response) {
    const auto& hls = vhost.get<VhostConfig>();
    if (!hls.enabled || draining_ || request.is_head() || without_suffix(path) != path) return {};
    const auto named = stream_of_playlist(hls, vhost.name, path);
    if (!named || !offers_.is_fetched(*named)) return {};
    std::string context(hls.ctx ? request.message.parameter("hls_ctx") : std::string_view());
    const bool has_context = !context.empty();
    if (has_context && !Viewers::is_context(context)) return response.send_error(400, "hls_ctx is none of ours");
    if (!has_context) context = viewers_.issue(named->text());
    const ViewerName name = viewer_name(&*named, context);
    auto admission = admit(name, *named, vhost, request, response.client());
    if (!admission) {
        if (admission.error().code() == base::Code::kCancelled) return std::unexpected(std::move(admission.error()));
        return refuse_viewer(admission.error(), response);
    }
    if (!TRY(await_playlist(*named, vhost, path, request, response))) return {};
    const Playlist come = find_playlist(vhost.name, path);
    if (!come.output) return {};
    if (!hls.ctx) return serve_without_context(come, guards_play(gate_, vhost), request, response);
    if (auto kept = add_viewer(name, *come.output, vhost, *std::move(admission), has_context); !kept)
        return refuse_viewer(kept.error(), response);
    return playlist(come, vhost, request, response, context);
}

// Until the first segment is complete, for the time of two behind the publication. False: there is no playlist, and the
// player may have been answered.
base::Result<bool> Service::await_playlist(const live::StreamKey& key, const config::Vhost& vhost,
                                           const std::string& path, const net::HttpRequest& request,
                                           net::HttpResponse& response) {
    const auto stream = registry_.find_or_create(key, live::live_options(vhost));
    const live::PlayerLease waits(stream);
    const auto limit =
        runtime::Deadline::in_ms(kFetchedWithinMs + static_cast<int64_t>(2'000 * vhost.get<VhostConfig>().fragment));
    while (!draining_ && !limit.passed()) {
        auto published = await_stream(*stream, {.sessions = sessions_,
                                                .offers = offers_,
                                                .ip = request.peer_ip,
                                                .client = response.client(),
                                                .may_wait = [this] { return !draining_; }});
        if (!published && published.error().code() == base::Code::kCancelled)
            return std::unexpected(std::move(published.error()));
        if (!published) {
            response.header("Cache-Control", "no-store");
            TRY(response.send_error(404, published.error().text()));
            return false;
        }
        const auto output = find_output(vhost.name, path);
        if (!output || output->view()) return output != nullptr;
        const runtime::EndWatch watch(response.client());
        if (auto waited = output->await_segment(limit); !waited && waited.error().code() != base::Code::kTimeout)
            return std::unexpected(std::move(waited.error()));
    }
    return false;
}

base::Result<void> Service::refuse_viewer(const base::Error& error, net::HttpResponse& response) {
    response.header("Cache-Control", "no-store");
    if (error.code() == base::Code::kLimit) response.header("Retry-After", "5");
    return response.send_error(error.code() == base::Code::kLimit ? 503 : 403, error.text());
}

void Service::count(const ViewerName& viewer, const std::shared_ptr<const live::StreamKey>& stream,
                    const net::HttpRequest& request, net::HttpResponse& response) {
    if (viewer.context.empty()) {
        // Nothing is copied for a response without a viewer.
        response.observe_body([this, stream](size_t bytes) { sessions_.accounts().add(*stream, {0, bytes}); });
        return;
    }
    response.observe_body(
        [this, found = viewers_.received(viewer, request.message.target.size()), stream](size_t bytes) {
            if (!Viewers::sent(found, bytes, runtime::now_ms())) sessions_.accounts().add(*stream, {0, bytes});
        });
}

int64_t Service::idle_ms(const Output& output) {
    const auto view = output.view();
    return std::max(kMinIdleMs, (view ? view->playlist().target_duration_s : 0) * 1'000 * kIdleTargets);
}

// Asks the guards about a viewer, unless it is known. One query at a time per viewer, because a viewer may send several
// requests at once.
base::Result<Service::Admission> Service::admit(const ViewerName& name, const live::StreamKey& key,
                                                const config::Vhost& vhost, const net::HttpRequest& request,
                                                runtime::ByteStream* client) {
    while (asking_.contains(name)) TRY(asked_.wait_next(runtime::Deadline::never()));
    Admission admission;
    const net::Visitor& visitor = admission.visitor =
        net::http_visitor(request, viewers_.id_for(name), key, net::SessionType::kHlsPlay);
    if (viewers_.banned(name)) return base::fail(base::Code::kRefused, "this viewer was ended");
    if (viewers_.known(name)) return admission;
    // Reserved before a guard is asked: a flood of new names must not become a flood of queries.
    auto reserved = viewers_.reserve(visitor);
    if (!reserved) sessions_.log_refusal("HLS viewer", visitor.ip, reserved.error());
    admission.share = TRY(std::move(reserved));
    asking_.insert(name);
    auto admitted = gate_.admit(visitor, vhost, client);
    asking_.erase(name);
    asked_.pulse();
    if (!admitted && admitted.error().code() != base::Code::kCancelled)
        net::record_refusal(sessions_, visitor, admitted.error());
    admission.grant = TRY(std::move(admitted));
    return admission;
}

// stays: create the viewer in any case, even if no guard follows it. A viewer about whom a server was asked is also
// created, so that it is asked only once.
base::Result<void> Service::add_viewer(const ViewerName& name, const Output& output, const config::Vhost& vhost,
                                       Admission admission, bool stays) {
    if (!stays && !admission.grant && !gate_.may_yield(net::Action::kPlay, vhost)) return {};
    live::PlayerLease lease;
    if (!viewers_.known(name))
        lease = live::PlayerLease(registry_.find_or_create(output.key(), live::live_options(vhost)),
                                  live::PlayerLease::Kind::kFetchesFiles);
    return viewers_.asked(name, admission.visitor, idle_ms(output), runtime::now_ms(), std::move(admission.share),
                          std::move(admission.grant), std::move(lease));
}

// Returns the viewer's id.
base::Result<std::string> Service::let_in(const ViewerName& name, const Output& output, const config::Vhost& vhost,
                                          const net::HttpRequest& request, bool stays, runtime::ByteStream* client) {
    auto admission = TRY(admit(name, output.key(), vhost, request, client));
    const std::string id = admission.visitor.id;
    TRY(add_viewer(name, output, vhost, std::move(admission), stays));
    return id;
}

// The first response to a viewer: the master playlist with its id.
base::Result<void> Service::master(const std::shared_ptr<Output>& output, const config::Vhost& vhost,
                                   const net::HttpRequest& request, net::HttpResponse& response,
                                   std::string_view admitted_context) {
    const bool is_admitted = !admitted_context.empty();
    const ViewerName name =
        viewer_name(&output->key(), is_admitted ? admitted_context : viewers_.issue(output->key().text()));
    const std::string& context = name.context;
    base::Result<void> admitted;
    // A client that only checks whether the stream exists (HEAD) is not a viewer.
    if (is_admitted) {
        // While it waited for the stream.
    } else if (request.is_head()) {
        admitted = gate_.check(net::http_visitor(request, context, output->key(), net::SessionType::kHlsPlay), vhost);
    } else if (auto let = let_in(name, *output, vhost, request, false, response.client()); !let) {
        admitted = std::unexpected(std::move(let.error()));
    }
    if (!admitted) {
        if (admitted.error().code() == base::Code::kCancelled) return admitted;
        return refuse_viewer(admitted.error(), response);
    }
    if (!output->view()) return response.send_error(404, "the stream has ended");
    if (!request.is_head()) output->expect_players(runtime::now_ms() + idle_ms(*output));
    std::string text = master_playlist(output->master(), request, context, output->hls().master_m3u8_path_relative);
    count({}, key_of(output), request, response);
    return serve_playlist(text, request, response);
}

// Viewers without a context cannot be told apart: guards that may yield are asked about one only where its request may
// begin something, namely that the stream is fetched again.
base::Result<void> Service::check_without_context(const Output& output, const config::Vhost& vhost,
                                                  const net::HttpRequest& request, runtime::ByteStream* client) {
    net::Visitor visitor = net::http_visitor(request, request.session_id, output.key(), net::SessionType::kHlsPlay);
    visitor.may_be_known = true;
    if (output.publishing() || request.is_head() || !offers_.is_fetched(output.key()))
        return gate_.check(visitor, vhost);
    (void)TRY(gate_.admit(std::move(visitor), vhost, client));
    return {};
}

base::Result<void> Service::serve_without_context(const Playlist& asked, bool is_private,
                                                  const net::HttpRequest& request, net::HttpResponse& response) {
    Output& output = *asked.output;
    Rendition* rendition = output.rendition(asked.path);
    const auto view = rendition ? rendition->view() : nullptr;
    if (asked.master ? !output.view() : !view) return response.send_error(404, "the stream has ended");
    output.expect_players(runtime::now_ms() + idle_ms(output));
    count({}, key_of(asked.output), request, response);
    if (!asked.master && view->takes_directives())
        return rendition->reloads().serve(*view, {.is_private = is_private}, request, response);
    if (!asked.master) return serve_playlist(*view, {}, request, response);
    const std::string text = master_playlist(output.master(), request, {}, output.hls().master_m3u8_path_relative);
    return serve_playlist(text, request, response);
}

base::Result<void> Service::playlist(const Playlist& asked, const config::Vhost& vhost, const net::HttpRequest& request,
                                     net::HttpResponse& response, std::string_view context) {
    const std::shared_ptr<Output>& output = asked.output;
    const VhostConfig& hls = output->hls();
    const live::StreamKey& key = output->key();
    if (!output->view()) {
        if (!output->publishing()) return {};
        response.header("Cache-Control", "no-store").header("Retry-After", "1");
        return response.send_error(
            404, fmt::format("{} is published, its first HLS segment is not complete yet", key.text()));
    }
    if (!hls.ctx) {
        if (auto checked = check_without_context(*output, vhost, request, response.client()); !checked) {
            if (checked.error().code() == base::Code::kCancelled) return checked;
            return refuse_viewer(checked.error(), response);
        }
        return serve_without_context(asked, guards_play(gate_, vhost), request, response);
    }
    const ViewerName name = viewer_name(&key, request.message.parameter("hls_ctx"));
    if (draining_ && !viewers_.known(name)) {
        response.header("Cache-Control", "no-store").header("Retry-After", "5");
        return response.send_error(503, "the server ends");
    }
    if (name.context.empty() || asked.master) return master(output, vhost, request, response, context);
    if (!Viewers::is_context(name.context)) return response.send_error(400, "hls_ctx is none of ours");
    auto id = let_in(name, *output, vhost, request, true, response.client());
    if (!id) {
        if (id.error().code() == base::Code::kCancelled) return std::unexpected(std::move(id.error()));
        return refuse_viewer(id.error(), response);
    }
    Rendition* rendition = output->rendition(asked.path);
    const auto view = rendition ? rendition->view() : nullptr;
    if (!view) return response.send_error(404, "the stream has ended");
    output->expect_players(runtime::now_ms() + idle_ms(*output));
    count(name, key_of(output), request, response);
    PlaylistForm form{.query = "?hls_ctx=" + *id, .all_uris = hls.ts_ctx};
    if (!view->takes_directives())
        return serve_playlist(*view, hls.ts_ctx ? std::move(form) : PlaylistForm(), request, response);
    // All who wait are sent one text, except where a segment is only for those who are known.
    form.all_uris &= gate_.guards_parts(vhost);
    form.is_private = guards_play(gate_, vhost);
    return rendition->reloads().serve(*view, std::move(form), request, response);
}

}  // namespace service::hls
