#include "net/http/static_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "net/http/http_server.h"
#include "net/http/http_testing.h"
#include "runtime/disk/disk.h"
#include "runtime/loop/testing.h"

namespace net {
namespace {

namespace fs = std::filesystem;
using testing::RawClient;

class StaticFilesTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        char name[] = "/tmp/static_files_test.XXXXXX";
        ASSERT_TRUE(mkdtemp(name) != nullptr);
        base_ = name;
        root_ = base_ / "html";
        fs::create_directories(root_ / "sub/empty");
        put(root_ / "index.html", "front");
        put(root_ / "sub/index.html", "sub front");
        put(root_ / "ten", "0123456789");
        put(root_ / "a b#.m3u8", "#EXTM3U");
        for (int i = 0; i < 50'000; ++i) big_ += fmt::format("{:07}\n", i);
        put(root_ / "big.ts", big_);
        put(base_ / "secret", "secret");
        fs::create_symlink("../secret", root_ / "escape");
        fs::create_symlink(base_ / "secret", root_ / "escape_absolute");
        fs::create_symlink("..", root_ / "up");
        fs::create_symlink("ten", root_ / "within");
        mkfifo((root_ / "fifo").c_str(), 0600);

        HttpRoute route;
        route.methods = {http::Method::kGet};
        route.pattern = "/*";
        route.handler = [this](HttpRequest& request, HttpResponse& response) {
            return files_->serve(request.capture("*"), request, response);
        };
        router_.add(std::move(route));
        files_ = std::make_unique<StaticFiles>(root_.string());
        server_ = std::make_unique<HttpServer>(sessions_, router_, HttpServerOptions{});
        ASSERT_TRUE(runtime::testing::ok(server_->listen({"127.0.0.1", 0})));
    }
    void TearDown() override {
        server_.reset();
        fs::remove_all(base_);
    }
    static void put(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
    testing::Answer get(std::string_view path, std::string_view fields = "", std::string_view method = "GET") {
        RawClient client(server_->port());
        client.send(fmt::format("{} {} HTTP/1.1\r\nHost: a\r\n{}\r\n", method, path, fields));
        return client.read(method == "HEAD");
    }

    fs::path base_, root_;
    std::string big_;
    SessionTable sessions_;
    HttpRouter router_;
    std::unique_ptr<StaticFiles> files_;
    std::unique_ptr<HttpServer> server_;
};

TEST_F(StaticFilesTest, RegularFilesAloneWithoutLinks) {
    fs::create_directories(root_ / "dir.flv");
    put(root_ / "dir.flv/index.html", "not a recording");
    fs::create_directory_symlink("sub", root_ / "linked");
    files_ = std::make_unique<StaticFiles>(root_.string(), nullptr, nullptr, StaticFiles::Kinds::kRegularOnly);
    EXPECT_EQ(get("/ten").body, "0123456789");
    EXPECT_EQ(get("/ten", "Range: bytes=2-3\r\n").body, "23");
    EXPECT_EQ(get("/sub/index.html").body, "sub front");
    for (const char* path : {"/within", "/escape", "/escape_absolute", "/up/secret", "/linked/index.html", "/dir.flv",
                             "/dir.flv/", "/sub", "/sub/", "/fifo"})
        EXPECT_EQ(get(path).status, 404) << path;
}

TEST_F(StaticFilesTest, Serves) {
    struct {
        std::string path;
        int status;
        std::string body;
    } table[] = {
        {"/", 200, "front"},
        {"/index.html", 200, "front"},
        {"/ten", 200, "0123456789"},
        {"/./ten", 200, "0123456789"},
        {"//ten", 200, "0123456789"},
        {"/sub/", 200, "sub front"},
        {"/a%20b%23.m3u8", 200, "#EXTM3U"},
        {"/within", 200, "0123456789"},
        {"/big.ts", 200, big_},
    };
    for (auto& row : table) {
        auto answer = get(row.path);
        EXPECT_EQ(answer.status, row.status) << row.path;
        EXPECT_EQ(answer.body, row.body) << row.path;
        EXPECT_TRUE(answer.complete) << row.path;
    }
    EXPECT_EQ(get("/big.ts").header("Content-Type"), "video/mp2t");
    EXPECT_EQ(get("/a%20b%23.m3u8").header("Cache-Control"), "no-cache");
}

TEST_F(StaticFilesTest, Refuses) {
    for (auto path : {"/nothing", "/ten/", "/ten/x", "/sub/nothing", "/escape", "/escape_absolute", "/up/secret"}) {
        auto answer = get(path);
        EXPECT_EQ(answer.status, 404) << path;
        EXPECT_EQ(answer.body.find("secret"), std::string::npos);
    }
    for (auto path : {"/../secret", "/%2e%2e/secret", "/sub/..%2f../secret", "/%252e%252e/secret", "/ten%00"})
        EXPECT_EQ(get(path).status, 400) << path;
    EXPECT_EQ(get("/fifo").status, 403);
    EXPECT_EQ(get("/sub/empty/").status, 403);
    EXPECT_EQ(get("/sub/empty").status, 403);
    auto moved = get("/sub?a=b");
    EXPECT_EQ(moved.status, 301);
    EXPECT_EQ(moved.header("Location"), "/sub/?a=b");
    EXPECT_EQ(get("/ten", "", "DELETE").status, 405);
    EXPECT_EQ(get("/" + std::string(300, 'a')).status, 404);
}

TEST_F(StaticFilesTest, Head) {
    auto head = get("/big.ts", "", "HEAD");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.header("Content-Length"), std::to_string(big_.size()));
    EXPECT_EQ(head.header("Accept-Ranges"), "bytes");
}

TEST_F(StaticFilesTest, Ranges) {
    auto part = get("/big.ts", "Range: bytes=100000-250000\r\n");
    EXPECT_EQ(part.status, 206);
    EXPECT_EQ(part.body, big_.substr(100000, 150001));
    EXPECT_EQ(part.header("Content-Range"), fmt::format("bytes 100000-250000/{}", big_.size()));
    EXPECT_EQ(get("/ten", "Range: bytes=-3\r\n").body, "789");
    auto beyond = get("/ten", "Range: bytes=10-\r\n");
    EXPECT_EQ(beyond.status, 416);
    EXPECT_EQ(beyond.header("Content-Range"), "bytes */10");
    EXPECT_EQ(get("/ten", "Range: bytes=0-1,3-4\r\n").status, 200);
    std::string etag(get("/ten").header("ETag"));
    EXPECT_EQ(get("/ten", "Range: bytes=1-2\r\nIf-Range: " + etag + "\r\n").body, "12");
    EXPECT_EQ(get("/ten", "Range: bytes=1-2\r\nIf-Range: \"other\"\r\n").status, 200);
}

// As SRS's http_server has them, for recordings.
TEST_F(StaticFilesTest, RangesInTheQueryOfAnMp4) {
    put(root_ / "a.mp4", "0123456789");
    for (const char* query : {"?range=2-4", "?bytes=2-4", "?token=x&range=2-4"}) {
        auto part = get(std::string("/a.mp4") + query);
        EXPECT_EQ(part.status, 206) << query;
        EXPECT_EQ(part.body, "234") << query;
        EXPECT_EQ(part.header("Content-Range"), "bytes 2-4/10") << query;
    }
    EXPECT_EQ(get("/a.mp4?range=7-").body, "789");
    EXPECT_EQ(get("/a.mp4?range=-2").body, "012");
    EXPECT_EQ(get("/a.mp4?bytes=7-99").body, "789");
    EXPECT_EQ(get("/a.mp4?range=2-4", "Range: bytes=5-5\r\n").body, "234") << "the query is meant";
    EXPECT_EQ(get("/a.mp4?range=99-").status, 416);
    for (const char* none : {"?range=", "?range=5", "?range=x-y", "?range=4-2", "?start=3"}) {
        EXPECT_EQ(get(std::string("/a.mp4") + none).status, 200) << none;
        EXPECT_EQ(get(std::string("/a.mp4") + none).body, "0123456789") << none;
    }
    EXPECT_EQ(get("/ten?range=2-4").status, 200);
}

TEST_F(StaticFilesTest, TheStartOfAnFlv) {
    const auto tag = [](uint8_t type, std::string body) {
        const auto size = static_cast<char>(body.size());
        return std::string{static_cast<char>(type), 0, 0, size, 0, 0, 0, 0, 0, 0, 0} + body +
               std::string{0, 0, 0, static_cast<char>(body.size() + 11)};
    };
    const std::string head = std::string("FLV\x01\x05\0\0\0\x09", 9) + std::string(4, '\0');
    const std::string meta = tag(18, "metadata"), video = tag(9, std::string("\x17\0\0\0\0avcC", 9)),
                      frame = tag(9, std::string("\x17\x01\0\0\0frame", 10)),
                      audio = tag(8, std::string("\xaf\0\x12\x10", 4)), last = tag(8, std::string("\xaf\x01last"));
    const std::string file = head + meta + video + frame + audio + frame + last;
    put(root_ / "a.flv", file);
    const size_t second = file.size() - last.size() - frame.size();
    auto from = [&](size_t start) { return get(fmt::format("/a.flv?start={}", start)); };
    EXPECT_EQ(from(second).status, 200);
    EXPECT_EQ(from(second).body, head + video + audio + frame + last);
    EXPECT_EQ(from(second).header("Content-Type"), "video/x-flv");
    EXPECT_EQ(from(file.size() - last.size()).body, head + video + audio + last);
    EXPECT_EQ(from(head.size() + meta.size() + video.size()).body, head + video + frame + audio + frame + last)
        << "what comes anyway does not come twice";
    for (const char* none : {"?start=", "?start=0", "?start=-5", "?start=x", "?start=99999", "?range=2-4"})
        EXPECT_EQ(get(std::string("/a.flv") + none).body, file) << none;
    put(root_ / "other.flv", "no recording");
    EXPECT_EQ(get("/other.flv?start=3").body, "no recording");
    put(root_ / "cut.flv", file.substr(0, head.size() + 5));
    EXPECT_EQ(get(fmt::format("/cut.flv?start={}", head.size() + 2)).body, head + file.substr(head.size() + 2, 3));
}

TEST_F(StaticFilesTest, Conditions) {
    auto first = get("/ten");
    std::string etag(first.header("ETag")), date(first.header("Last-Modified"));
    auto same = get("/ten", "If-None-Match: " + etag + "\r\n");
    EXPECT_EQ(same.status, 304);
    EXPECT_EQ(same.header("ETag"), etag);
    EXPECT_EQ(get("/ten", "If-Modified-Since: " + date + "\r\n").status, 304);
    EXPECT_EQ(get("/ten", "If-None-Match: \"other\"\r\nIf-Modified-Since: " + date + "\r\n").status, 200);
    EXPECT_EQ(get("/ten", "If-Match: \"other\"\r\n").status, 412);
    put(root_ / "ten", "changed");
    EXPECT_EQ(get("/ten", "If-None-Match: " + etag + "\r\n").body, "changed");
}

TEST_F(StaticFilesTest, NoDirectory) {
    files_ = std::make_unique<StaticFiles>((base_ / "nowhere").string());
    EXPECT_EQ(get("/ten").status, 404);
    EXPECT_EQ(get("/").status, 404);
}

TEST_F(StaticFilesTest, ALargeFileIsSentByteForByte) {
    std::string large;
    for (int i = 0; large.size() < 5'000'000; ++i) large += fmt::format("{:09}\n", i);
    put(root_ / "large", large);
    EXPECT_EQ(get("/large").body, large);
    struct {
        size_t first, last;
    } table[] = {{0, 0},          {0, 32'767},        {1, 32'768},          {1, 32'769},
                 {4095, 262'143}, {262'144, 524'288}, {262'143, 1'000'000}, {4'999'990, 4'999'999},
                 {77, 4'000'077}};
    for (auto& row : table) {
        auto part = get("/large", fmt::format("Range: bytes={}-{}\r\n", row.first, row.last));
        EXPECT_EQ(part.status, 206);
        EXPECT_TRUE(part.body == large.substr(row.first, row.last - row.first + 1)) << row.first << "-" << row.last;
    }
}

TEST_F(StaticFilesTest, AFileThatIsNotInMemory) {
    int fd = open((root_ / "big.ts").c_str(), O_RDONLY);
    ASSERT_EQ(fsync(fd), 0);
    ASSERT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
    EXPECT_TRUE(get("/big.ts").body == big_);
}

TEST_F(StaticFilesTest, TheLoopGoesOnWhileADiskIsSlow) {
    int fd = open((root_ / "big.ts").c_str(), O_RDONLY);
    ASSERT_EQ(fsync(fd), 0);
    ASSERT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
    runtime::disk::set_fault(
        std::make_unique<runtime::disk::Fault>(*runtime::disk::parse_fault("path=big.ts op=read delay_ms=400")));
    const int64_t began_ms = base::monotonic_ms();
    int64_t took_ms = 0;
    testing::Answer slow;
    auto client = runtime::spawn("client", [&] {
        slow = get("/big.ts");
        took_ms = base::monotonic_ms() - began_ms;
    });
    int others = 0;
    while (!client.done() && base::monotonic_ms() - began_ms < 10'000) others += get("/ten").body == "0123456789";
    runtime::disk::set_fault(nullptr);
    EXPECT_TRUE(slow.body == big_);
    EXPECT_GE(took_ms, 400) << "the disk was not waited for: the file was in memory, or was read on the loop";
    EXPECT_GT(others, 20) << "requests for another file waited for the slow one";
}

TEST_F(StaticFilesTest, AFileThatGrowsIsSentAsItWas) {
    std::string start(20'000'000, 'x');
    put(root_ / "grows", start);
    RawClient client(server_->port());
    client.send("GET /grows HTTP/1.1\r\nHost: a\r\n\r\n");
    std::string first = client.read_bytes(1000);
    std::ofstream(root_ / "grows", std::ios::binary | std::ios::app) << "more";
    std::string rest = client.read_bytes(first.find("\r\n\r\n") + 4 + start.size() - 1000);
    EXPECT_TRUE(rest.ends_with("xxxx"));
    client.send("GET /grows HTTP/1.1\r\nHost: a\r\nRange: bytes=-5\r\n\r\n");
    EXPECT_EQ(client.read().body, "xmore");
}

// What the kernel holds for a connection is all that a client that does not read can make the server hold.
TEST_F(StaticFilesTest, AClientThatStopsReadingInTheMiddle) {
    put(root_ / "huge", std::string(50'000'000, 'x'));
    RawClient client(server_->port());
    client.send("GET /huge HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(client.read_bytes(1000).empty());
    EXPECT_TRUE(runtime::testing::ok(runtime::sleep_ms(300)));
    uint64_t sent = 0;
    sessions_.for_each([&](const Session& session) { sent = std::max(sent, session.traffic().sent_bytes); });
    EXPECT_LT(sent, 20'000'000u);
    EXPECT_EQ(get("/ten").body, "0123456789");
}

// The last page stays in memory, so sendfile() alone would be called for ever.
TEST_F(StaticFilesTest, AFileCutInTheMiddleOfAPage) {
    put(root_ / "huge", std::string(20'000'000, 'x'));
    RawClient client(server_->port());
    client.send("GET /huge HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(client.read_bytes(1000).empty());
    EXPECT_TRUE(runtime::testing::ok(runtime::sleep_ms(100)));
    fs::resize_file(root_ / "huge", 19'999'000);
    std::string rest;
    for (std::string bytes; !(bytes = client.read_bytes(1'000'000)).empty();) rest += bytes;
    EXPECT_LT(rest.size(), 20'000'000u);
    EXPECT_EQ(get("/ten").body, "0123456789");
}

TEST_F(StaticFilesTest, AFileCutWhileSentBreaksTheConnection) {
    std::string huge(20'000'000, 'x');
    put(root_ / "huge", huge);
    RawClient client(server_->port());
    client.send("GET /huge HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(client.read_bytes(1000).empty());
    fs::resize_file(root_ / "huge", 10);
    size_t total = 1000;
    while (true) {
        size_t n = client.read_bytes(100'000).size();
        if (n == 0) break;
        total += n;
    }
    EXPECT_LT(total, huge.size());
}

}  // namespace
}  // namespace net
