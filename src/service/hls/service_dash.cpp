// DASH over HTTP.

#include <fmt/core.h>

#include <utility>

#include "base/clock.h"
#include "net/http/http_visitor.h"
#include "protocol/http/gzip.h"
#include "protocol/http/timestamp.h"
#include "protocol/http/url.h"
#include "service/hls/service.h"
#include "service/hls/serving/serve.h"

namespace service::hls {

namespace {

constexpr std::string_view kManifestType = "application/dash+xml";

}  // namespace

// The clock, or a segment that is not complete, or not begun.
base::Result<void> Service::serve_beside_manifest(const std::shared_ptr<Output>& output, const config::Vhost& vhost,
                                                  const std::string& path, bool is_private,
                                                  const net::HttpRequest& request, net::HttpResponse& response) {
    const Dash& dash = *output->dash();
    if (path == dash.directory() + "time") {
        response.header("Cache-Control", "no-store");
        return response.send(200, "text/plain", http::format_timestamp(base::wall_ms()));
    }
    const auto growing = dash.find_growing(path);
    if (!growing) return {};
    const auto stream = std::shared_ptr<const live::StreamKey>(output, &output->key());
    const std::string_view context = request.message.parameter("hls_ctx");
    const net::FileViewers::Name viewer{context.empty() ? std::string() : stream->text(), std::string(context)};
    if (auto may = viewers_.check_file(viewer, vhost); !may) return net::send_refusal(std::move(may.error()), response);
    auto share = response.reserve_wait();
    if (!share) return net::send_refusal(std::move(share.error()), response);
    const int64_t limit_ms = dash.wait_ms();
    const bool has_bytes = TRY(await_bytes(growing, limit_ms, response));
    if (!has_bytes) return send_answer(*error_answer(404, "there is no such segment"), response);
    viewers_.count(viewer, stream, request, response);
    if (!growing->is_complete) return serve_growing(growing, path, limit_ms, is_private, request, response);
    const ResourcePtr whole = index_.find(vhost.name, path);
    return whole ? serve_resource(whole, path, is_private, request, response) : base::Result<void>();
}

// It gives the viewer its id: in the URLs of segments, and in that from which it fetches the next ones.
base::Result<void> Service::manifest(const std::shared_ptr<Output>& output, const std::string& id, bool is_private,
                                     const net::HttpRequest& request, net::HttpResponse& response) {
    const Dash& dash = *output->dash();
    if (!dash.has_manifest()) return response.send_error(404, "the stream has ended");
    if (!request.is_head()) expect_players(*output);
    const auto stream = std::shared_ptr<const live::StreamKey>(output, &output->key());
    const net::FileViewers::Name viewer{id.empty() ? std::string() : stream->text(), id};
    viewers_.count(viewer, stream, request, response);
    std::string text, cache = "no-store";
    if (id.empty()) {
        text = dash.manifest();
        cache = fmt::format("{}, max-age={}", is_private ? "private" : "public", dash.max_age_s());
    } else {
        // Other parameters of the player's request (a token) are passed on.
        const auto is_context = [](std::string_view name) { return name == "hls_ctx"; };
        const std::string query = "?hls_ctx=" + id,
                          others = http::without_parameters(request.message.raw_query, is_context);
        const std::string& path = dash.manifest_path();
        text = dash.manifest(relative_uri(path, path) + query + (others.empty() ? "" : "&" + others),
                             output->hls().ts_ctx ? query : std::string());
    }
    response.header("Cache-Control", cache).header("Vary", "Accept-Encoding");
    if (wants_gzip(request)) {
        if (std::string small = http::gzip(text); !small.empty()) {
            response.header("Content-Encoding", "gzip");
            return response.send(200, kManifestType, small);
        }
    }
    return response.send(200, kManifestType, text);
}

}  // namespace service::hls
