#include "net/access/file_access.h"

#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "net/access/access_guard.h"
#include "net/access/signed_urls.h"
#include "net/http/http_server.h"
#include "net/http/http_testing.h"
#include "net/http/static_files.h"
#include "runtime/loop/testing.h"

namespace net {
namespace {

namespace fs = std::filesystem;
using runtime::testing::ok;
using testing::RawClient;

// Serves "live/now.m3u8" of a.com itself.
struct Offers final : LiveFiles {
    base::Result<void> serve_live_file(const config::Vhost& vhost, const std::string& path, const HttpRequest&,
                                       HttpResponse& response) override {
        if (vhost.name != "a.com" || path != "live/now.m3u8") return {};
        return response.send(200, "text/plain", "live");
    }
};

class FileAccessTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        char name[] = "/tmp/file_access_test.XXXXXX";
        ASSERT_TRUE(mkdtemp(name) != nullptr);
        base_ = name;
        for (const char* file : {"live/now.m3u8", "live/x-1.ts", "open/y-1.ts", "page.html"}) put(file);
        auto snapshot = std::make_shared<config::Snapshot>(*config::default_snapshot());
        snapshot->http_server.dir = base_;
        for (const char* vhost : {"a.com", "b.com"}) {
            config::Vhost next = snapshot->vhosts.front();
            next.name = vhost;
            snapshot->vhosts.push_back(next);
        }
        snapshot_ = snapshot;
        a().security.enabled = true;
        a().security.deny = {{false, *base::IpNetwork::parse("127.0.0.0/8")}};
        gate_.add(guard_);
        gate_.add(signed_);
        access_.add(offers_);
        access_.add_claims([this](const config::Vhost& vhost) -> FileClaims {
            if (vhost.name == "a.com")
                return {{{base_, "[app]/[stream].m3u8"}, {base_, "live/[stream]-[seq].ts"}}, base_};
            if (vhost.name != "b.com") return {};
            return {{{base_, "open/[stream].m3u8"}, {base_, "open/[stream]-[seq].ts"}}, base_};
        });
        access_.set_snapshot(snapshot_);
        HttpRoute route{{http::Method::kGet}, "/*", "", [this](HttpRequest& request, HttpResponse& response) {
                            return StaticFiles(base_, &access_).serve(request.message.path, request, response);
                        }};
        router_.add(std::move(route));
        ASSERT_TRUE(ok(server_.listen({"127.0.0.1", 0})));
    }
    void TearDown() override {
        server_.stop();
        fs::remove_all(base_);
    }
    void put(const std::string& path) {
        fs::create_directories((base_ / path).parent_path());
        std::ofstream(base_ / path) << "file";
    }
    bool mark(const std::string& path, std::string_view owner) {
        return setxattr((base_ / path).c_str(), "user.srs.stream", owner.data(), owner.size(), 0) == 0;
    }
    config::Vhost& vhost(std::string_view name) {
        return *std::ranges::find(snapshot_->vhosts, name, &config::Vhost::name);
    }
    config::Vhost& a() { return vhost("a.com"); }
    int get(std::string_view path, std::string_view host = "b.com") {
        RawClient client(server_.port());
        client.send(fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", path, host));
        auto answer = client.read();
        body_ = answer.body;
        return answer.status;
    }

    fs::path base_;
    std::shared_ptr<config::Snapshot> snapshot_;
    SessionTable sessions_;
    HttpRouter router_;
    Gate gate_;
    AccessGuard guard_;
    SignedUrls signed_;
    Offers offers_;
    FileAccess access_{gate_};
    HttpServer server_{sessions_, router_, {}};
    std::string body_;
};

TEST_F(FileAccessTest, TheOwnersRulesHold) {
    for (const char* host : {"a.com", "b.com", "c.com"}) {
        EXPECT_EQ(get("/live/x-1.ts", host), 403) << host;
        EXPECT_EQ(get("/open/y-1.ts", host), 200) << host;
        EXPECT_EQ(get("/page.html", host), 200) << host;
        EXPECT_EQ(get("/live/now.m3u8", host), 200) << host;
        EXPECT_EQ(body_, "live") << "answered by its service";
    }
    access_.remove(offers_);
    EXPECT_EQ(get("/live/now.m3u8"), 403);
}

TEST_F(FileAccessTest, ByWhateverPath) {
    fs::create_symlink("live/x-1.ts", base_ / "page.txt");
    fs::create_directory_symlink("live", base_ / "by");
    for (const char* path : {"/page.txt", "/by/x-1.ts", "/live//x-1.ts", "/live/%78-1.ts", "/./live/x-1.ts"})
        EXPECT_EQ(get(path), 403) << path;
}

TEST_F(FileAccessTest, WhatAFileSaysCountsMore) {
    if (!mark("open/y-1.ts", "a.com/live/s")) GTEST_SKIP() << "a file system without attributes";
    EXPECT_EQ(get("/open/y-1.ts"), 403);
    fs::create_hard_link(base_ / "open/y-1.ts", base_ / "other.txt");
    EXPECT_EQ(get("/other.txt"), 403);
    ASSERT_TRUE(mark("live/x-1.ts", "b.com/live/s"));
    EXPECT_EQ(get("/live/x-1.ts", "a.com"), 200);
    put("orphan.bin");
    ASSERT_TRUE(mark("orphan.bin", "gone.com/live/s"));
    EXPECT_EQ(get("/orphan.bin"), 403);
}

TEST_F(FileAccessTest, SignedStreams) {
    a().security.enabled = false;
    a().signed_urls.enabled = a().signed_urls.play = true;
    a().signed_urls.secret = {"key"};
    EXPECT_EQ(get("/live/x-1.ts"), 403);
    Visitor visitor;
    visitor.vhost = "a.com";
    visitor.app = "live";
    visitor.stream = "x";
    const std::string signed_path =
        "/live/x-1.ts?expires=99999999999&sign=" + sign_url("key", visitor, "99999999999", "");
    EXPECT_EQ(get(signed_path), 403) << "the application cannot be derived from the pattern";
    if (!mark("live/x-1.ts", "a.com/live/x")) GTEST_SKIP() << "a file system without attributes";
    EXPECT_EQ(get(signed_path), 200);
    ASSERT_TRUE(mark("live/x-1.ts", "a.com/live/y"));
    EXPECT_EQ(get(signed_path), 403) << "signed for another stream";
}

}  // namespace
}  // namespace net
