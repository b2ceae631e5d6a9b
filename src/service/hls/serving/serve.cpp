#include "service/hls/serving/serve.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/m3u8/directives.h"

namespace service::hls {

namespace {

constexpr std::string_view kPlaylistType = "application/vnd.apple.mpegurl";
constexpr std::string_view kUncached = "no-cache, no-store, must-revalidate";

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

base::Result<void> serve_playlist(const View& view, PlaylistForm form, const net::HttpRequest& request,
                                  net::HttpResponse& response) {
    form.gzip = net::wants_gzip(request);
    if (view.takes_directives()) return net::send_answer(*blocking_answer(view, form, false), response);
    // Held while it is sent: the playlist may go on meanwhile.
    const View::Body body = view.body(form);
    response.header("Cache-Control", kUncached).header("Vary", "Accept-Encoding");
    if (body.gzipped) response.header("Content-Encoding", "gzip");
    return response.send(200, kPlaylistType, *body.text);
}

base::Result<void> serve_playlist(std::string_view text, const net::HttpRequest& request, net::HttpResponse& response) {
    response.header("Cache-Control", kUncached);
    return net::send_text(kPlaylistType, text, request, response);
}

net::AnswerPtr reload_answer(const View& view, const PlaylistForm& form) { return blocking_answer(view, form, true); }

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
