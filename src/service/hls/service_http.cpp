// The HTTP side of the service.

#include <fmt/core.h>

#include "base/clock.h"
#include "runtime/coroutine.h"
#include "service/hls/serve.h"
#include "service/hls/service.h"

namespace service::hls {

namespace {

// A viewer that asks for nothing for so many target durations is gone; players ask once in each, most of them.
constexpr int64_t kIdleTargets = 3;
constexpr int64_t kLeastIdleMs = 10'000;

// ?vhost= and ?domain= come before the Host field.
std::string_view vhost_name(const http::Request& request) {
    for (std::string_view name : {"vhost", "domain"})
        if (auto value = http::find_parameter(request.parameters, name).value_or(""); !value.empty()) return value;
    return request.host;
}

std::string_view without_slashes(std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    return path;
}

// The path below hls_path: files are at the top of the server, and where http_static mounts hls_path.
std::string path_below(const config::Vhost& vhost, std::string_view path) {
    const config::VhostHttpStatic& files = vhost.http_static;
    if (files.enabled && without_slashes(files.dir) == without_slashes(vhost.hls.path)) {
        std::string_view mount = files.mount;
        mount.remove_prefix(std::min(mount.find('/'), mount.size()));
        mount = without_slashes(mount);
        if (!mount.empty() && path.starts_with(mount) && path.substr(mount.size()).starts_with('/'))
            path.remove_prefix(mount.size());
    }
    while (path.starts_with('/')) path.remove_prefix(1);
    return std::string(path);
}

}  // namespace

std::shared_ptr<Output> Service::find_output(std::string_view vhost, std::string_view path) const {
    auto found = urls_.find(url_of(vhost, path));
    return found == urls_.end() ? nullptr : found->second.lock();
}

base::Result<void> Service::handle(net::HttpRequest& request, net::HttpResponse& response) {
    config::SnapshotPtr snapshot = snapshot_;
    const config::Vhost* vhost = snapshot->vhost(vhost_name(request.message));
    if (!vhost) return {};
    std::string path = path_below(*vhost, request.message.path);
    std::string_view context = request.message.parameter("hls_ctx");
    if (auto resource = index_.find(vhost->name, path)) {
        if (viewers_.banned(context)) return response.send_error(403, "this viewer was ended");
        TRY(serve_resource(resource, path, request, response));
        if (!response.started()) {
            // Its file is gone. That must not be kept as what a segment may be.
            response.header("Cache-Control", "no-store");
            return response.send_error(404);
        }
        if (!context.empty())
            viewers_.sent(context, request.message.target.size(), response.body_bytes(), base::monotonic_ms());
        return {};
    }
    if (auto output = find_output(vhost->name, path)) return playlist(output, request, response);
    return {};
}

base::Result<void> Service::playlist(const std::shared_ptr<Output>& output, net::HttpRequest& request,
                                     net::HttpResponse& response) {
    auto view = output->view();
    const config::VhostHls& hls = output->hls();
    if (!view) {
        if (!output->publishing()) return {};
        response.header("Cache-Control", "no-store").header("Retry-After", "1");
        return response.send_error(
            404, fmt::format("{} is published, its first HLS segment is not complete yet", output->key().text()));
    }
    if (!hls.ctx) return serve_playlist(view->text, &output->zipped(), request, response);

    std::string context(request.message.parameter("hls_ctx"));
    if (context.empty()) {
        std::string master = master_playlist(*view, request, runtime::new_context_id(), hls.master_m3u8_path_relative,
                                             output->width(), output->height());
        return serve_playlist(master, nullptr, request, response);
    }
    if (!Viewers::is_context(context)) return response.send_error(400, "hls_ctx is none of ours");
    int64_t idle_ms = std::max(kLeastIdleMs, view->playlist.target_duration_s * 1000 * kIdleTargets);
    auto asked = viewers_.asked(context, output->key().text(), request.peer_ip, idle_ms,
                                static_cast<size_t>(snapshot_->global.max_connections), base::monotonic_ms());
    if (!asked) {
        if (asked.error().code() == base::Code::kLimit) response.header("Retry-After", "5");
        return response.send_error(asked.error().code() == base::Code::kLimit ? 503 : 403, asked.error().text());
    }
    if (hls.ts_ctx) {
        std::string text = m3u8::write(view->playlist, "?hls_ctx=" + context);
        TRY(serve_playlist(text, nullptr, request, response));
    } else {
        TRY(serve_playlist(view->text, &output->zipped(), request, response));
    }
    viewers_.sent(context, request.message.target.size(), response.body_bytes(), base::monotonic_ms());
    return {};
}

}  // namespace service::hls
