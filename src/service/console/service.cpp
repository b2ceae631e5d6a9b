#include "service/console/service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <tuple>
#include <vector>

#include "base/log.h"
#include "protocol/http/mime.h"
#include "runtime/threads/workers.h"
#include "service/console/config.h"

namespace service::console {

using base::Result;

namespace {

// Streams and the API may be on other ports and other servers: hence the schemes. The sites that may show the page in a
// frame follow.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "media-src 'self' blob: http: https:; connect-src 'self' http: https: ws: wss:; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors ";

constexpr std::string_view kEmbedPage = "/players/embed.html";

std::string ancestors_of(const ServerConfig& config) {
    const auto& sites = config.embed_sites;
    if (sites == std::vector<std::string>{"none"}) return "'none'";
    return fmt::format("'self' {}", fmt::join(sites, " "));
}

// The last two are pages that WebRTC has built in as well, at literal patterns, which come before that with a wildcard.
constexpr const char* kPages[] = {"/console/*", "/players/*", "/icon.svg",          "/start.html",
                                  "/start.js",  "/start.css", "/players/whip.html", "/players/whep.html"};

constexpr std::string_view kStartFile = "start.html";

constexpr std::string_view kNoStartPage = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Media server</title>
<h1>Media server</h1>
<p>The server runs. Its web pages are missing: <code>make console</code> builds them.</p>
</html>
)html";
constexpr std::string_view kNoPages = "The server's web pages are missing: make console builds them.";

// Other files below the directory are those of streams, which have rules of their own.
bool belongs_to_page(std::string_view path) {
    const std::string_view type = http::mime_type(path);
    return type.starts_with("text/") || type.starts_with("image/") || type.starts_with("font/") ||
           type == "application/json";
}

// "/console/" and "/console".
bool is_folder(std::string_view path) {
    if (path.ends_with('/')) path.remove_suffix(1);
    return path == "/console" || path == "/players";
}

std::string file_name(const std::string& path) { return path.ends_with('/') ? path + "index.html" : path; }

}  // namespace

Service::Service(config::SnapshotPtr snapshot, const net::FileAccess& access, net::HttpRouter& router,
                 net::HttpRouter& api)
    : snapshot_(std::move(snapshot)), headers_(headers_for("'self'")), access_(access) {
    reload(snapshot_);
    for (const char* pattern : kPages) {
        add_route(router, pattern, &Service::serve_page);
        add_route(api, pattern, &Service::serve_from_api);
    }
    for (const char* pattern : {"/", "/index.html"}) add_route(router, pattern, &Service::serve_start);
}

std::shared_ptr<const Service::PageHeaders> Service::headers_for(std::string_view ancestors) {
    auto made = std::make_shared<PageHeaders>();
    made->policy = fmt::format("{}{}", kPolicy, ancestors);
    made->fields = {{"Content-Security-Policy", made->policy},
                    {"X-Content-Type-Options", "nosniff"},
                    {"Referrer-Policy", "no-referrer"},
                    {"Cache-Control", "no-cache"},
                    {"Vary", "Accept-Encoding"}};
    made->of_brotli = made->of_gzip = made->fields;
    made->of_brotli.emplace_back("Content-Encoding", "br");
    made->of_gzip.emplace_back("Content-Encoding", "gzip");
    return made;
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    embed_headers_ = headers_for(ancestors_of(next->get<ServerConfig>()));
}

void Service::add_route(net::HttpRouter& router, std::string pattern, Handler handler) {
    net::HttpRoute route;
    route.methods = {http::Method::kGet};
    route.pattern = std::move(pattern);
    route.summary = "The server's web pages";
    route.is_fallback = true;
    route.handler = [this, handler](net::HttpRequest& request, net::HttpResponse& response) -> Result<void> {
        if (!snapshot_->get<ServerConfig>().enabled) return {};
        return (this->*handler)(request, response);
    };
    router.add(std::move(route));
}

Result<void> Service::start() {
    const auto& config = snapshot_->get<ServerConfig>();
    if (!config.enabled || (!snapshot_->http_server.enabled && !snapshot_->http_api.enabled)) return {};
    const std::filesystem::path page = std::filesystem::path(config.dir) / "console/index.html";
    auto found = std::make_shared<bool>(false);
    auto look = [page, found] {
        std::error_code failure;
        *found = std::filesystem::exists(page, failure);
    };
    if (!runtime::offload(look, runtime::Deadline::in_ms(30'000)) || !*found)
        base::log::trace("console: no web pages in {}; make console builds them", config.dir);
    return {};
}

// The site is served on the port of http_server, which asks it before the fallbacks.
Result<void> Service::serve_from_api(net::HttpRequest& request, net::HttpResponse& response) {
    const auto& site = snapshot_->http_server;
    const std::string name = file_name(request.message.path);
    if (site.enabled && belongs_to_page(name)) {
        TRY(net::StaticFiles(site.dir, &access_).serve(name, request, response));
        if (response.started()) return {};
    }
    return serve_page(request, response);
}

Result<void> Service::serve_page(net::HttpRequest& request, net::HttpResponse& response) {
    const std::string& path = request.message.path;
    // Relative, so that it is right behind a reverse proxy that serves the pages below another path.
    if (is_folder(path) && !path.ends_with('/')) {
        const std::string& query = request.message.raw_query;
        return response.redirect(301, path.substr(1) + "/" + (query.empty() ? "" : "?" + query));
    }
    TRY(send_file(path, request, response));
    if (!response.started() && is_folder(path)) return response.send_error(404, kNoPages);
    return {};
}

Result<void> Service::serve_start(net::HttpRequest& request, net::HttpResponse& response) {
    TRY(send_file(std::string(kStartFile), request, response));
    if (response.started()) return {};
    for (const auto& [name, value] : headers_->fields) response.header(name, value);
    return response.send(200, "text/html; charset=utf-8", kNoStartPage);
}

Result<void> Service::send_file(const std::string& path, const net::HttpRequest& request,
                                net::HttpResponse& response) const {
    const std::string name = file_name(path);
    if (!belongs_to_page(name)) return {};
    const std::shared_ptr<const PageHeaders> headers = path == kEmbedPage ? embed_headers_ : headers_;
    const std::string dir = snapshot_->get<ServerConfig>().dir;
    const http::Headers& asked = request.message.headers;
    // Ranges are of the plain form, which has one ETag for all of them.
    const bool whole = !asked.find("Range");
    for (const auto& [coding, ending, fields] :
         {std::tuple("br", ".br", &headers->of_brotli), {"gzip", ".gz", &headers->of_gzip}}) {
        if (!whole || !asked.has_token("Accept-Encoding", coding)) continue;
        TRY(net::StaticFiles(dir, &access_, fields).serve(name + ending, request, response, http::mime_type(name)));
        if (response.started()) return {};
    }
    return net::StaticFiles(dir, &access_, &headers->fields).serve(name, request, response);
}

}  // namespace service::console
