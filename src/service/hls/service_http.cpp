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

// The path below hls_path or dash_path: files are at the root of the server, and where http_static mounts that.
std::string path_below(const config::Vhost& vhost, std::string_view path) {
    const config::VhostHttpStatic& files = vhost.http_static;
    const auto is_mounted = [&](std::string_view dir) { return without_slashes(files.dir) == without_slashes(dir); };
    if (files.enabled && (is_mounted(vhost.get<VhostConfig>().path) || is_mounted(vhost.get<DashConfig>().path))) {
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

// The stream, or the variants that a group of that name has by its configuration.
std::vector<live::StreamKey> streams_of(const VhostConfig& hls, const live::StreamKey& named) {
    std::vector<live::StreamKey> variants = hls.variant_groups.members(named);
    return variants.empty() ? std::vector{named} : variants;
}

ViewerName viewer_name(const live::StreamKey* stream, std::string_view context) {
    return {stream ? stream->text() : std::string(), std::string(context)};
}

// With the playlist, whose stream or group has it.
template <class Playlist>
std::shared_ptr<const live::StreamKey> key_of(const Playlist& playlist) {
    if (playlist.group) return playlist.group->key;
    return {playlist.output, &playlist.output->key()};
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
    if (auto group = is_streams ? nullptr : groups_.at(vhost.name, path))
        if (!group->listed(runtime::now_ms()).empty()) return {{}, std::move(group), true, path};
    if (output) return {std::move(output), {}, false, path};
    const std::string main_path = without_suffix(path);
    if (main_path == path) return {};
    output = find_output(vhost.name, main_path);
    if (!output || !output->view()) return {};
    if (output->has_audio_group() && path == output->paths().master()) return {std::move(output), {}, true, path};
    const Rendition* rendition = output->rendition(path);
    return rendition && rendition->view() ? Playlist{std::move(output), {}, false, path} : Playlist();
}

std::vector<std::shared_ptr<Output>> Service::Playlist::outputs() const {
    if (group) return group->listed(runtime::now_ms());
    return output->view() ? std::vector{output} : std::vector<std::shared_ptr<Output>>();
}

const live::StreamKey& Service::viewed(const live::StreamKey& stream, std::string_view context) const {
    const auto group = context.empty() ? nullptr : groups_.of(stream);
    return !group || has_viewer(viewer_name(&stream, context)) ? stream : *group->key;
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
    auto resource = index_.find(vhost.name, path);
    const Playlist asked = resource ? Playlist() : find_playlist(vhost, path, !context.empty());
    Index::Announced* part = resource || asked ? nullptr : index_.announced(vhost.name, path);
    // The gate is asked once per viewer; address and page are checked for each request.
    auto allowed = net::check_play(vhost, request.peer_ip, net::page_of(request.message.headers));
    if ((resource || asked || part) && !allowed) return refuse_viewer(allowed.error(), response);
    if (resource || part) {
        const auto& stream = resource ? resource->stream : part->stream;
        // A request without a context is of no viewer in particular.
        const ViewerName viewer =
            viewer_name(context.empty() || !stream ? nullptr : &viewed(*stream, context), context);
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
    if (!asked) {
        const auto dash = find_output(vhost.name, path.substr(0, path.rfind('/') + 1));
        if (dash && !allowed) return refuse_viewer(allowed.error(), response);
        if (dash) return serve_beside_manifest(dash, vhost, path, guards_play(gate_, vhost), request, response);
    }
    // One that is not hinted yet, or is gone.
    const auto& hls = vhost.get<VhostConfig>();
    if (hls.enabled && hls.has_parts() && is_part(path))
        return send_answer(*error_answer(404, "there is no such part"), response);
    if (asked && (asked.group || asked.output->serves(path) || is_replaced(*asked.output)))
        return playlist(asked, vhost, request, response);
    if (!asked && allowed) TRY(redirect(vhost, path, request, response));
    if (response.started()) return {};
    TRY(await_fetched(vhost, path, request, response));
    if (response.started()) return {};
    const Playlist come = find_playlist(vhost, path, !context.empty());
    return come ? playlist(come, vhost, request, response) : base::Result<void>();
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
    const bool is_playlist = hls.enabled && stream_of_playlist(hls, vhost.name, path);
    if (members.empty() || !is_playlist) return std::vector{Fetched{named, path}};
    std::vector<Fetched> all;
    for (const live::StreamKey& member : members)
        all.push_back({member, TRY(SegmentPaths::make(hls, member, snapshot_->global.utc_time)).playlist()});
    return all;
}

// The first request for a stream has it fetched, when its client is admitted; the player gets the playlist when the
// first segment is complete.
base::Result<void> Service::await_fetched(const config::Vhost& vhost, const std::string& path,
                                          const net::HttpRequest& request, net::HttpResponse& response) {
    const auto& hls = vhost.get<VhostConfig>();
    if (draining_ || request.is_head() || without_suffix(path) != path) return {};
    const auto named = stream_of(vhost, path);
    if (!named) return {};
    const std::vector<Fetched> fetched = TRY(fetched_for(vhost, *named, path));
    if (std::ranges::none_of(fetched, [&](const Fetched& one) { return offers_.is_fetched(one.stream); })) return {};
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
    if (!TRY(await_any(fetched, vhost, request, response))) return {};
    const Playlist come = find_playlist(vhost, path, has_context);
    if (!come) return {};
    if (!hls.ctx) return serve_without_context(come, guards_play(gate_, vhost), request, response);
    if (auto kept = add_viewer(name, come.key(), idle_ms(come), vhost, *std::move(admission), has_context); !kept)
        return refuse_viewer(kept.error(), response);
    return playlist(come, vhost, request, response, context);
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
    return std::max(kMinIdleMs, output.target_s() * 1'000 * kIdleTargets);
}

int64_t Service::idle_ms(const Playlist& playlist) {
    int64_t longest_ms = kMinIdleMs;
    for (const auto& output : playlist.outputs()) longest_ms = std::max(longest_ms, idle_ms(*output));
    return longest_ms;
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
    admission.visitor.streams = vhost.get<VhostConfig>().variant_groups.members(key);
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
base::Result<void> Service::add_viewer(const ViewerName& name, const live::StreamKey& key, int64_t idle_ms,
                                       const config::Vhost& vhost, Admission admission, bool stays) {
    if (!stays && !admission.grant && !gate_.may_yield(net::Action::kPlay, vhost)) return {};
    live::PlayerLease lease;
    if (!viewers_.known(name))
        lease = live::PlayerLease(registry_.find_or_create(key, live::live_options(vhost)),
                                  live::PlayerLease::Kind::kFetchesFiles);
    return viewers_.asked(name, admission.visitor, idle_ms, runtime::now_ms(), std::move(admission.share),
                          std::move(admission.grant), std::move(lease));
}

// Returns the viewer's id.
base::Result<std::string> Service::let_in(const ViewerName& name, const live::StreamKey& key, int64_t idle_ms,
                                          const config::Vhost& vhost, const net::HttpRequest& request, bool stays,
                                          runtime::ByteStream* client) {
    auto admission = TRY(admit(name, key, vhost, request, client));
    const std::string id = admission.visitor.id;
    TRY(add_viewer(name, key, idle_ms, vhost, std::move(admission), stays));
    return id;
}

// A viewer without an id, which was not admitted while it waited for the stream. Returns the id that it gets; empty: it
// is refused.
base::Result<std::string> Service::let_in_new(const live::StreamKey& key, int64_t idle_ms, const config::Vhost& vhost,
                                              const net::HttpRequest& request, net::HttpResponse& response,
                                              std::string_view admitted_context, bool stays) {
    if (!admitted_context.empty()) return std::string(admitted_context);
    const ViewerName name = viewer_name(&key, viewers_.issue(key.text()));
    base::Result<void> admitted;
    // A client that only checks whether the stream exists (HEAD) is not a viewer.
    if (request.is_head())
        admitted = gate_.check(net::http_visitor(request, name.context, key, net::SessionType::kHlsPlay), vhost);
    else if (auto let = let_in(name, key, idle_ms, vhost, request, stays, response.client()); !let)
        admitted = std::unexpected(std::move(let.error()));
    if (admitted) return name.context;
    if (admitted.error().code() == base::Code::kCancelled) return std::unexpected(std::move(admitted.error()));
    TRY(refuse_viewer(admitted.error(), response));
    return std::string();
}

// The first response to a viewer: the multivariant playlist with its id.
base::Result<void> Service::master(const Playlist& asked, const config::Vhost& vhost, const net::HttpRequest& request,
                                   net::HttpResponse& response, std::string_view admitted_context) {
    const std::string context =
        TRY(let_in_new(asked.key(), idle_ms(asked), vhost, request, response, admitted_context, false));
    return context.empty() ? base::Result<void>() : send_master(asked, request, response, context);
}

base::Result<void> Service::send_master(const Playlist& asked, const net::HttpRequest& request,
                                        net::HttpResponse& response, std::string_view context) {
    const auto outputs = asked.outputs();
    if (outputs.empty()) return response.send_error(404, "the stream has ended");
    m3u8::MultivariantPlaylist playlist{true, {}};
    for (const auto& output : outputs) {
        if (!request.is_head()) expect_players(*output);
        playlist.variants.push_back(output->variant());
        playlist.independent_segments &= output->independent();
    }
    count({}, key_of(asked), request, response);
    const SegmentPaths& paths = asked.group ? asked.group->paths : asked.output->paths();
    return serve_playlist(multivariant_text(std::move(playlist), paths.master(), request, context,
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

base::Result<void> Service::serve_without_context(const Playlist& asked, bool is_private,
                                                  const net::HttpRequest& request, net::HttpResponse& response) {
    if (asked.output && asked.output->dash() && asked.path == asked.output->dash()->manifest_path())
        return manifest(asked.output, {}, is_private, request, response);
    if (asked.master) return send_master(asked, request, response, {});
    Rendition* rendition = asked.output->rendition(asked.path);
    const auto view = rendition ? rendition->view() : nullptr;
    if (!view) return response.send_error(404, "the stream has ended");
    expect_players(*asked.output);
    count({}, key_of(asked), request, response);
    if (view->takes_directives())
        return rendition->reloads().serve(*view, {.is_private = is_private}, request, response);
    return serve_playlist(*view, {}, request, response);
}

base::Result<void> Service::playlist(const Playlist& asked, const config::Vhost& vhost, const net::HttpRequest& request,
                                     net::HttpResponse& response, std::string_view context) {
    const std::shared_ptr<Output>& output = asked.output;
    if (output && is_replaced(*output)) {
        response.header("Cache-Control", "max-age=1");
        return response.send_error(404,
                                   fmt::format("{} is not published, but other variants are", output->key().text()));
    }
    const bool is_manifest = output && output->dash() && asked.path == output->dash()->manifest_path();
    if (output && !output->serves(asked.path)) {
        if (!output->publishing()) return {};
        response.header("Cache-Control", "no-store").header("Retry-After", "1");
        return response.send_error(404, fmt::format("{} is published, its first {} segment is not complete yet",
                                                    output->key().text(), is_manifest ? "DASH" : "HLS"));
    }
    if (!(output ? output->hls() : vhost.get<VhostConfig>()).ctx) {
        if (auto checked = check_without_context(asked, vhost, request, response.client()); !checked) {
            if (checked.error().code() == base::Code::kCancelled) return checked;
            return refuse_viewer(checked.error(), response);
        }
        const bool is_private = guards_play(gate_, vhost);
        return serve_without_context(asked, is_private, request, response);
    }
    const std::string_view sent = request.message.parameter("hls_ctx");
    const bool is_master = sent.empty() || asked.master;
    live::StreamKey key = is_master || is_manifest ? asked.key() : viewed(output->key(), sent);
    if (draining_ && !viewers_.known(viewer_name(&key, sent))) {
        response.header("Cache-Control", "no-store").header("Retry-After", "5");
        return response.send_error(503, "the server ends");
    }
    if (is_manifest && sent.empty()) return first_manifest(output, vhost, request, response, context);
    if (is_master) return master(asked, vhost, request, response, context);
    if (!Viewers::is_context(sent)) return response.send_error(400, "hls_ctx is none of ours");
    auto id = let_in(viewer_name(&key, sent), key, idle_ms(*output), vhost, request, true, response.client());
    // One that an earlier run knew may have been admitted to the variant, and not to its group.
    if (!id && id.error().code() == base::Code::kRefused && !has_viewer(viewer_name(&key, sent))) {
        key = output->key();
        id = let_in(viewer_name(&key, sent), key, idle_ms(*output), vhost, request, true, response.client());
    }
    if (!id) {
        if (id.error().code() == base::Code::kCancelled) return std::unexpected(std::move(id.error()));
        return refuse_viewer(id.error(), response);
    }
    if (is_manifest) return manifest(output, *id, true, request, response);
    Rendition* rendition = output->rendition(asked.path);
    const auto view = rendition ? rendition->view() : nullptr;
    if (!view) return response.send_error(404, "the stream has ended");
    expect_players(*output);
    count(viewer_name(&key, sent), key_of(asked), request, response);
    const bool ts_ctx = output->hls().ts_ctx;
    PlaylistForm form{.query = "?hls_ctx=" + *id, .all_uris = ts_ctx};
    if (!view->takes_directives())
        return serve_playlist(*view, ts_ctx ? std::move(form) : PlaylistForm(), request, response);
    // All who wait are sent one text, except where a segment is only for those who are known.
    form.all_uris &= gate_.guards_parts(vhost);
    form.is_private = guards_play(gate_, vhost);
    return rendition->reloads().serve(*view, std::move(form), request, response);
}

}  // namespace service::hls
