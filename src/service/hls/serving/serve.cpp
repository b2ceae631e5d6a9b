#include "service/hls/serving/serve.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/http/representation.h"
#include "net/http/static_files.h"
#include "protocol/http/gzip.h"
#include "protocol/http/mime.h"
#include "protocol/http/response_head.h"
#include "protocol/m3u8/directives.h"

namespace service::hls {

namespace {

constexpr std::string_view kPlaylistType = "application/vnd.apple.mpegurl";
// Compression below this size gains nothing.
constexpr size_t kMinGzippedBytes = 100;

base::Result<void> serve_memory(const ResourcePtr& resource, std::string_view type, const net::HttpRequest& request,
                                net::HttpResponse& response) {
    const net::Representation what{resource->size, {resource->etag, resource->made_ms / 1000}, resource->last_modified};
    if (!TRY(net::check_conditions(what, request, response))) return {};
    return net::send_wanted(what, type, request, response, [&](const http::ByteRange& range) {
        if (range.length == resource->size && !request.is_head() && resource->is_final) resource->pages->count_reader();
        net::FileParts parts;
        for (auto& part : resource->parts(range.first, range.length))
            parts.push_back({std::move(part.source), part.offset, part.length});
        return parts;
    });
}

base::Result<void> send_uncached(std::string_view text, bool is_gzipped, net::HttpResponse& response) {
    response.header("Cache-Control", "no-cache, no-store, must-revalidate").header("Vary", "Accept-Encoding");
    if (is_gzipped) response.header("Content-Encoding", "gzip");
    return response.send(200, kPlaylistType, text);
}

// A reload is the answer for a part or segment: its URL never means anything else, unlike that of the newest playlist.
std::string cache_control(const View& view, bool is_personal, bool is_private, bool is_reload) {
    constexpr int64_t kReloadTargets = 6;
    if (is_personal) return "no-store";
    const int64_t target_s = view.playlist().target_duration_s;
    return fmt::format("{}, max-age={}", is_private ? "private" : "public",
                       is_reload ? kReloadTargets * target_s : std::max<int64_t>(1, target_s / 2));
}

net::AnswerPtr blocking_answer(const View& view, const PlaylistForm& form, bool is_reload) {
    const View::Body body = view.body(form);
    net::AnswerFields fields = {{"Cache-Control", cache_control(view, body.personal, form.is_private, is_reload)},
                                {"Vary", "Accept-Encoding"}};
    if (body.gzipped) fields.emplace_back("Content-Encoding", "gzip");
    return std::make_shared<net::PreparedAnswer>(200, std::string(kPlaylistType), std::move(fields), *body.text);
}

}  // namespace

base::Result<void> serve_resource(const ResourcePtr& resource, const std::string& path, bool is_private,
                                  const net::HttpRequest& request, net::HttpResponse& response) {
    response.header("Cache-Control", resource->cache_control(is_private));
    if (resource->root.empty()) return serve_memory(resource, http::mime_type(path), request, response);
    return net::StaticFiles(resource->root).serve(path, request, response);
}

bool wants_gzip(const net::HttpRequest& request) {
    return http::accepts_gzip(request.message.headers.get("Accept-Encoding"));
}

base::Result<void> serve_playlist(const View& view, PlaylistForm form, const net::HttpRequest& request,
                                  net::HttpResponse& response) {
    form.gzip = wants_gzip(request);
    if (view.takes_directives()) return send_answer(*blocking_answer(view, form, false), response);
    // Held while it is sent: the playlist may go on meanwhile.
    const View::Body body = view.body(form);
    return send_uncached(*body.text, body.gzipped, response);
}

base::Result<void> serve_playlist(std::string_view text, const net::HttpRequest& request, net::HttpResponse& response) {
    const std::string gzipped =
        text.size() >= kMinGzippedBytes && wants_gzip(request) ? http::gzip(text) : std::string();
    return send_uncached(gzipped.empty() ? text : gzipped, !gzipped.empty(), response);
}

net::AnswerPtr reload_answer(const View& view, const PlaylistForm& form) { return blocking_answer(view, form, true); }

net::AnswerPtr error_answer(int status, std::string_view text) {
    return std::make_shared<net::PreparedAnswer>(status, "text/plain; charset=utf-8",
                                                 net::AnswerFields{{"Cache-Control", "max-age=1"}},
                                                 fmt::format("{} {}\n{}\n", status, http::reason_phrase(status), text));
}

base::Result<void> send_answer(const net::PreparedAnswer& answer, net::HttpResponse& response) {
    for (const auto& [name, value] : answer.fields()) response.header(name, value);
    return response.send(answer.status(), answer.content_type(), answer.body());
}

std::string multivariant_text(m3u8::MultivariantPlaylist playlist, std::string_view path,
                              const net::HttpRequest& request, std::string_view context, bool relative) {
    std::string query = context.empty() ? std::string() : fmt::format("hls_ctx={}", context);
    // Other parameters of the player's request (a token) are passed on, but not what it asks of this playlist.
    if (const std::string others = m3u8::without_directives(request.message.raw_query); !others.empty())
        query += query.empty() ? others : "&" + others;
    if (!query.empty()) query.insert(0, "?");
    // The request may have named the directory by a mount of it.
    const std::string& asked = request.message.path;
    const std::string directory = relative ? std::string() : asked.substr(0, asked.rfind('/') + 1);
    return write_multivariant(std::move(playlist), path, directory, query);
}

}  // namespace service::hls
