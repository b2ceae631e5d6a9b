// SnapshotBuilder's checks of hooks and of signed URLs.

#include <fmt/format.h>

#include <filesystem>

#include "config/snapshot_builder.h"

namespace config {
namespace {

bool is_url(std::string_view text) {
    for (std::string_view scheme : {"http://", "https://"})
        if (text.starts_with(scheme) && text.size() > scheme.size() && text[scheme.size()] != '/') return true;
    return false;
}

// Whether files below `inner` can be fetched where `outer` is served. Compares only the names.
bool lies_below(const std::string& inner, const std::string& outer) {
    auto normal = [](const std::string& path) {
        return (std::filesystem::path(path) / "").lexically_normal().string();
    };
    std::string in = normal(inner), out = normal(outer);
    return out == "./" ? !in.starts_with('/') : in.starts_with(out);
}

}  // namespace

void SnapshotBuilder::check_hooks(const Vhost& vhost) {
    const VhostHttpHooks& hooks = vhost.http_hooks;
    if (!hooks.enabled) return;
    for (const Row& row : rows()) {
        if (row.scope != "vhost/http_hooks" || !row.name.starts_with("on_")) continue;
        const std::string path = row.path();
        std::string text = row.binding.get({&snapshot_, &vhost});
        for (const std::string& url : split_words(text))
            if (!is_url(url))
                problems_.error(vhost_origin(vhost, path.c_str()),
                                fmt::format("{} '{}' must be a URL: http://HOST/... or https://HOST/...", path, url));
    }
}

void SnapshotBuilder::check_signed_urls(const Vhost& vhost) {
    const VhostSignedUrls& urls = vhost.signed_urls;
    if (!urls.enabled) return;
    const Place place = vhost_origin(vhost, "vhost/signed_urls/enabled");
    if (urls.secret.empty()) problems_.error(place, "signed_urls is enabled without a secret");
    if (!urls.play || !vhost.hls.enabled) return;
    // Segments are only for players admitted to the playlist, which only the context can prove.
    if (!vhost.hls.ctx || !vhost.hls.ts_ctx)
        problems_.error(place, "signed_urls for play needs hls_ctx on and hls_ts_ctx on in hls");
    if (vhost.hls.storage == "memory") return;
    auto served = [&](const std::string& dir, std::string_view what) {
        if (lies_below(vhost.hls.path, dir))
            problems_.error(place,
                            fmt::format("without a signature {} serves the files of hls_path {}: let hls_path be "
                                        "elsewhere, or hls_storage be memory",
                                        what, vhost.hls.path));
    };
    if (snapshot_.http_server.enabled) served(snapshot_.http_server.dir, "http_server's dir");
    for (const Vhost& other : snapshot_.vhosts)
        if (other.http_static.enabled) served(other.http_static.dir, "http_static of " + other.name);
}

}  // namespace config
