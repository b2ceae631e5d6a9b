// DASH over HTTP.

#include <fmt/core.h>

#include <utility>

#include "net/http/answers.h"
#include "protocol/http/url.h"
#include "runtime/loop/clock.h"
#include "service/hls/service.h"

namespace service::hls {

namespace {

constexpr std::string_view kManifestType = "application/dash+xml";

}  // namespace

// It gives the viewer its id: in the URLs of segments, and in that from which it fetches the next ones.
base::Result<void> Service::manifest(const Playlist& asked, const std::string& id, bool is_private,
                                     const net::HttpRequest& request, net::HttpResponse& response) {
    const auto outputs = asked.outputs();
    if (outputs.empty()) return response.send_error(404, "the stream has ended");
    const Dash& dash = *outputs.front()->dash();
    for (const auto& one : outputs)
        if (!request.is_head()) expect_players(*one);
    const mpd::Text& all = asked.group ? asked.group->manifest(runtime::now_ms()) : dash.manifest();
    const auto stream = asked.shared_key();
    const net::FileViewers::Name viewer{id.empty() ? std::string() : stream->text(), id};
    viewers_.count(viewer, stream, request, response);
    std::string text, cache = "no-store";
    if (id.empty()) {
        text = all.text;
        cache = fmt::format("{}, max-age={}", is_private ? "private" : "public", dash.max_age_s());
    } else {
        // Other parameters of the player's request (a token) are passed on.
        const auto is_context = [](std::string_view name) { return name == "hls_ctx"; };
        const std::string query = "?hls_ctx=" + id,
                          others = http::without_parameters(request.message.raw_query, is_context);
        text = all.personal(
            http::relative_reference(asked.path, asked.path) + query + (others.empty() ? "" : "&" + others),
            outputs.front()->hls().ts_ctx ? query : std::string());
    }
    response.header("Cache-Control", cache);
    return net::send_text(kManifestType, text, request, response);
}

}  // namespace service::hls
