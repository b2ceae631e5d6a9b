#include "service/console/service.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "net/http/http_server.h"
#include "net/http/http_testing.h"
#include "runtime/loop/testing.h"
#include "service/console/config.h"

namespace service::console {
namespace {

namespace fs = std::filesystem;
using net::testing::Answer;
using net::testing::RawClient;
using runtime::testing::ok;

// A site in a directory of its own, and pages in another one; the site's route is that of http_server.
class ConsoleTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        char name[] = "/tmp/console_test.XXXXXX";
        ASSERT_TRUE(mkdtemp(name) != nullptr);
        base_ = name;
        fs::create_directories(base_ / "site");
        for (const char* page : {"start.html", "start.js", "icon.svg", "console/index.html", "console/console.js.map",
                                 "console/console.css", "players/index.html", "players/whip.html"})
            put(fs::path("pages") / page, page);
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        snapshot_->http_server.enabled = true;
        snapshot_->http_server.dir = base_ / "site";
        snapshot_->get<ServerConfig>().dir = base_ / "pages";
        access_.set_snapshot(snapshot_);
        service_ = std::make_unique<Service>(snapshot_, access_, router_, api_router_);
        net::HttpRoute site;
        site.methods = {http::Method::kGet};
        site.pattern = "/*";
        site.handler = [this](net::HttpRequest& request, net::HttpResponse& response) {
            const std::string& path = request.message.path;
            return net::StaticFiles(snapshot_->http_server.dir, &access_)
                .serve(path == "/" ? "index.html" : path, request, response);
        };
        router_.add(std::move(site));
        ASSERT_TRUE(ok(service_->start()));
        ASSERT_TRUE(ok(server_.listen({"127.0.0.1", 0})));
        ASSERT_TRUE(ok(server_.listen({"127.0.0.1", 0}, nullptr, &api_router_)));
    }
    void TearDown() override {
        server_.stop();
        fs::remove_all(base_);
    }
    void put(const fs::path& path, std::string_view text) {
        fs::create_directories((base_ / path).parent_path());
        std::ofstream(base_ / path, std::ios::binary) << text;
    }
    Answer get(std::string_view path, std::string_view fields = "", std::string_view method = "GET",
               size_t listener = 0) {
        RawClient client(server_.port(listener));
        client.send(fmt::format("{} {} HTTP/1.1\r\nHost: a\r\n{}\r\n", method, path, fields));
        return client.read(method == "HEAD");
    }
    Answer get_from_api(std::string_view path) { return get(path, "", "GET", 1); }

    fs::path base_;
    std::shared_ptr<config::Snapshot> snapshot_;
    net::SessionTable sessions_;
    net::Gate gate_;
    net::FileAccess access_{gate_};
    net::HttpRouter router_, api_router_;
    std::unique_ptr<Service> service_;
    net::HttpServer server_{sessions_, router_, net::HttpServerOptions{}};
};

TEST_F(ConsoleTest, PagesHaveTheirTypesAndHeaders) {
    struct {
        const char* path;
        const char* file;
        const char* type;
    } table[] = {
        {"/", "start.html", "text/html; charset=utf-8"},
        {"/?a=b", "start.html", "text/html; charset=utf-8"},
        {"/index.html", "start.html", "text/html; charset=utf-8"},
        {"/start.js", "start.js", "text/javascript; charset=utf-8"},
        {"/icon.svg", "icon.svg", "image/svg+xml"},
        {"/console/", "console/index.html", "text/html; charset=utf-8"},
        {"/console/?stream=a", "console/index.html", "text/html; charset=utf-8"},
        {"/console/console.css", "console/console.css", "text/css; charset=utf-8"},
        {"/console/console.js.map", "console/console.js.map", "application/json"},
        {"/players/", "players/index.html", "text/html; charset=utf-8"},
        {"/players/whip.html", "players/whip.html", "text/html; charset=utf-8"},
    };
    for (const auto& row : table) {
        const Answer answer = get(row.path);
        EXPECT_EQ(answer.status, 200) << row.path;
        EXPECT_EQ(answer.body, row.file) << row.path;
        EXPECT_EQ(answer.header("Content-Type"), row.type) << row.path;
        EXPECT_EQ(answer.header("Content-Security-Policy").find("default-src 'none'; script-src 'self'; "), 0u);
        EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
        EXPECT_EQ(answer.header("Referrer-Policy"), "no-referrer");
        EXPECT_EQ(answer.header("Cache-Control"), "no-cache");
        const std::string known = fmt::format("If-None-Match: {}\r\n", answer.header("ETag"));
        EXPECT_EQ(get(row.path, known).status, 304) << row.path;
        EXPECT_EQ(get(row.path, "", "HEAD").header("Content-Length"), std::to_string(answer.body.size()));
    }
    EXPECT_EQ(get("/start.css").status, 404);
    EXPECT_EQ(get("/console/nothing.js").status, 404);
    EXPECT_EQ(get("/start.js/").status, 404);
}

// The other pages can change something: a site that shows them in a frame could have a visitor click on that.
TEST_F(ConsoleTest, OnlyThePlayerToBeEmbeddedIsForFramesOfOtherSites) {
    put("pages/players/embed.html", "embed");
    const auto ancestors = [&](std::string_view path) {
        const std::string policy(get(path).header("Content-Security-Policy"));
        return policy.substr(policy.find("frame-ancestors"));
    };
    EXPECT_EQ(ancestors("/players/embed.html?stream=a"), "frame-ancestors 'self' *");
    for (const char* path : {"/console/", "/players/", "/players/whip.html", "/"})
        EXPECT_EQ(ancestors(path), "frame-ancestors 'self'") << path;
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->get<ServerConfig>().embed_sites = {"https://a.example", "https://*.b.example"};
    service_->reload(next);
    EXPECT_EQ(ancestors("/players/embed.html"), "frame-ancestors 'self' https://a.example https://*.b.example");
    next = std::make_shared<config::Snapshot>(*snapshot_);
    next->get<ServerConfig>().embed_sites = {"none"};
    service_->reload(next);
    EXPECT_EQ(ancestors("/players/embed.html"), "frame-ancestors 'none'");
}

TEST_F(ConsoleTest, CompressedForms) {
    put("pages/console/big.js", "plain");
    put("pages/console/big.js.br", "brotli");
    put("pages/console/big.js.gz", "gzip");
    put("pages/console/gzip.js", "plain");
    put("pages/console/gzip.js.gz", "gzip");
    const struct {
        const char* path;
        const char* accepts;
        const char* coding;
        const char* body;
    } table[] = {
        {"/console/big.js", "gzip, deflate, br, zstd", "br", "brotli"},
        {"/console/big.js", "GZIP", "gzip", "gzip"},
        {"/console/big.js", "br;q=0, deflate", "", "plain"},
        {"/console/big.js", "identity", "", "plain"},
        {"/console/gzip.js", "br, gzip", "gzip", "gzip"},
        {"/console/console.css", "br, gzip", "", "console/console.css"},
    };
    for (const auto& row : table) {
        const Answer answer = get(row.path, fmt::format("Accept-Encoding: {}\r\n", row.accepts));
        EXPECT_EQ(answer.body, row.body) << row.path << " " << row.accepts;
        EXPECT_EQ(answer.header("Content-Encoding"), row.coding) << row.path << " " << row.accepts;
        EXPECT_EQ(answer.header("Content-Type"), get(row.path).header("Content-Type"));
        EXPECT_EQ(answer.header("Vary"), "Accept-Encoding");
        EXPECT_NE(answer.header("Content-Security-Policy"), "");
    }
    EXPECT_EQ(get("/console/big.js", "Accept-Encoding: br\r\nRange: bytes=0-1\r\n").body, "pl");
    EXPECT_EQ(get("/console/big.js.br").status, 404) << "it is no page by itself";
    EXPECT_EQ(get("/console/none.js", "Accept-Encoding: br\r\n").status, 404);
    const std::string known = fmt::format("Accept-Encoding: br\r\nIf-None-Match: {}\r\n",
                                          get("/console/big.js", "Accept-Encoding: br\r\n").header("ETag"));
    EXPECT_EQ(get("/console/big.js", known).status, 304);
}

TEST_F(ConsoleTest, FoldersHaveRelativeRedirects) {
    EXPECT_EQ(get("/console").status, 301);
    EXPECT_EQ(get("/console").header("Location"), "console/");
    EXPECT_EQ(get("/players?app=live").header("Location"), "players/?app=live");
    EXPECT_EQ(get_from_api("/console").header("Location"), "console/");
}

// Such as SRS's own console and players, whose scripts are inline.
TEST_F(ConsoleTest, AnOperatorsFileIsFirstAndHasNoPolicy) {
    put("site/index.html", "the operator's");
    put("site/console/index.html", "the operator's");
    put("site/players/js/a.js", "the operator's");
    for (const char* path : {"/", "/index.html", "/console/", "/players/js/a.js"}) {
        EXPECT_EQ(get(path).body, "the operator's") << path;
        EXPECT_EQ(get(path).header("Content-Security-Policy"), "") << path;
    }
    for (const char* path : {"/console/", "/console/index.html", "/players/js/a.js"}) {
        EXPECT_EQ(get_from_api(path).body, "the operator's") << path;
        EXPECT_EQ(get_from_api(path).header("Content-Security-Policy"), "") << path;
    }
    for (size_t listener : {0, 1}) {
        const Answer ours = get("/console/console.css", "", "GET", listener);
        EXPECT_EQ(ours.body, "console/console.css");
        EXPECT_NE(ours.header("Content-Security-Policy"), "");
    }
    EXPECT_EQ(get_from_api("/").status, 404);
}

// Nothing tells the pages from an operator's files there.
TEST_F(ConsoleTest, FilesInTheSitesOwnDirectoryAreTheOperators) {
    snapshot_->http_server.dir = base_ / "pages";
    for (const char* path : {"/console/", "/console/console.css", "/icon.svg", "/start.html"})
        for (size_t listener : {0, 1}) {
            EXPECT_EQ(get(path, "", "GET", listener).status, 200) << path;
            EXPECT_EQ(get(path, "", "GET", listener).header("Content-Security-Policy"), "") << path;
        }
    EXPECT_NE(get("/").header("Content-Security-Policy"), "");
    snapshot_->http_server.enabled = false;
    EXPECT_NE(get_from_api("/console/").header("Content-Security-Policy"), "");
}

TEST_F(ConsoleTest, TheDefaultDirectoryHasNoOtherFiles) {
    const auto defaults = config::default_snapshot();
    EXPECT_NE(defaults->get<ServerConfig>().dir, defaults->http_server.dir);
}

TEST_F(ConsoleTest, NothingElseIsServed) {
    put("secret.html", "secret");
    put("pages/console/live.flv", "media");
    put("pages/console/key", "secret");
    put("pages/other.html", "other");
    put("pages/console/a.js.tmp", "growing");
    fs::create_symlink("../../secret.html", base_ / "pages/console/up.html");
    fs::create_symlink(base_ / "secret.html", base_ / "pages/console/absolute.html");
    for (const char* path : {"/console/live.flv", "/console/key", "/other.html", "/console/a.js.tmp",
                             "/console/up.html", "/console/absolute.html", "/console//etc/passwd.html"})
        for (size_t listener : {0, 1}) EXPECT_EQ(get(path, "", "GET", listener).status, 404) << path;
    for (const char* path : {"/console/../../secret.html", "/console/%2e%2e/%2e%2e/secret.html",
                             "/console/..%2f..%2fsecret.html", "/console/index.html%00"})
        for (size_t listener : {0, 1}) EXPECT_EQ(get(path, "", "GET", listener).status, 400) << path;
    EXPECT_EQ(get("/console/", "", "POST").status, 405);
}

TEST_F(ConsoleTest, TheApiHasThePagesButNoStartPage) {
    EXPECT_EQ(get_from_api("/console/").body, "console/index.html");
    EXPECT_NE(get_from_api("/players/whip.html").header("Content-Security-Policy"), "");
    EXPECT_EQ(get_from_api("/").status, 404);
}

TEST_F(ConsoleTest, MissingPages) {
    fs::remove_all(base_ / "pages");
    EXPECT_EQ(get("/").status, 200);
    EXPECT_NE(get("/").body.find("make console"), std::string::npos);
    EXPECT_NE(get("/").header("Content-Security-Policy"), "");
    for (const char* path : {"/console/", "/players/"}) {
        EXPECT_EQ(get(path).status, 404) << path;
        EXPECT_NE(get(path).body.find("make console"), std::string::npos) << path;
    }
    EXPECT_EQ(get("/players/whip.html").status, 404);
    EXPECT_TRUE(ok(service_->start()));
}

TEST_F(ConsoleTest, Reloads) {
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->get<ServerConfig>().enabled = false;
    service_->reload(next);
    for (const char* path : {"/", "/console/", "/console", "/icon.svg"}) EXPECT_EQ(get(path).status, 404) << path;
    service_->reload(snapshot_);
    EXPECT_EQ(get("/console/").status, 200);
}

}  // namespace
}  // namespace service::console
