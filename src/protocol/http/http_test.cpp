// The smaller parts: URLs, ranges, dates, types, conditions, heads, and the parser of responses.

#include <gtest/gtest.h>

#include "protocol/http/conditional.h"
#include "protocol/http/date.h"
#include "protocol/http/mime.h"
#include "protocol/http/range.h"
#include "protocol/http/response_head.h"
#include "protocol/http/response_parser.h"
#include "protocol/http/url.h"

namespace http {
namespace {

TEST(Url, SafePath) {
    struct {
        std::string_view raw;
        std::string_view path;  // empty: refused
    } table[] = {
        {"/", "/"},
        {"/a/b", "/a/b"},
        {"/a/b/", "/a/b/"},
        {"//a///b", "/a/b"},
        {"/./a/./b/.", "/a/b/"},
        {"/a%2fb", "/a/b"},
        {"/%E4%BD%A0", "/\xe4\xbd\xa0"},
        {"/a..b/..c/d..", "/a..b/..c/d.."},
        {"/...", "/..."},
        {"/100%25", "/100%"},
        {"", ""},
        {"a", ""},
        {"/..", ""},
        {"/../a", ""},
        {"/a/..", ""},
        {"/a/../b", ""},
        {"/%2e%2e/a", ""},
        {"/.%2E/a", ""},
        {"/%2e%2e%2fa", ""},
        {"/%252e%252e/a", ""},
        {"/%252e%252e%252fa", ""},
        {"/..%255ca", ""},
        {"/..\\a", ""},
        {"/a%00", ""},
        {"/a%0a", ""},
        {"/%", ""},
        {"/%f", ""},
        {"/%gg", ""},
    };
    for (auto& row : table) {
        auto path = safe_path(row.raw);
        EXPECT_EQ(path ? *path : "", row.path) << row.raw;
    }
}

// A path without anything to decode takes a shorter way: the same letter written as an escape does not.
TEST(Url, PlainPathsAreTreatedAsEncodedOnes) {
    for (std::string plain : {"/a", "/a/", "/a/b.ts", "//a", "/a//", "/./a", "/a/.", "/.a", "/a.", "/../a", "/a/..",
                              "/a\\..\\b", "/a/..b", "a", "/a\x1f", "/a\x7f", "/a\xe4", "/a b"}) {
        std::string encoded = plain;
        encoded.replace(encoded.find('a'), 1, "%61");
        const auto path = safe_path(plain), other = safe_path(encoded);
        EXPECT_EQ(path ? *path : "refused", other ? *other : "refused") << plain;
    }
}

TEST(Url, EncodesAndDecodes) {
    EXPECT_EQ(percent_encode("/a b/\xe4?#%"), "/a%20b/%E4%3F%23%25");
    EXPECT_EQ(percent_decode("%41b%2B+").value(), "Ab++");
}

TEST(Url, Hosts) {
    EXPECT_EQ(parse_host("A.b:1")->host, "a.b");
    EXPECT_EQ(parse_host("[::1]:80")->host, "::1");
    EXPECT_EQ(parse_host("[::1]:80")->port, 80);
    EXPECT_EQ(parse_host("[::1]")->port, 0);
    EXPECT_EQ(parse_host("a:")->port, 0);
    EXPECT_TRUE(parse_host("")->host.empty());
    for (auto bad : {"[::1", "[::1]x", "a/b", "a@b", "a:b", "a:65536", "a b"}) EXPECT_FALSE(parse_host(bad)) << bad;
}

TEST(Url, QueryIsBounded) {
    std::string query;
    for (int i = 0; i < 1000; ++i) query += "a=b&";
    EXPECT_EQ(parse_query(query).size(), 64u);
    auto odd = parse_query("&&=v&k=&%zz=%4&a=b=c");
    ASSERT_EQ(odd.size(), 4u);
    EXPECT_EQ(odd[2].first, "%zz");
    EXPECT_EQ(odd[3].second, "b=c");
}

TEST(Range, Table) {
    using enum RangeResult::Kind;
    struct {
        std::string_view value;
        uint64_t size;
        RangeResult::Kind kind;
        uint64_t first, length;
    } table[] = {
        {"bytes=0-0", 10, kPart, 0, 1},
        {"bytes=2-", 10, kPart, 2, 8},
        {"bytes=2-5", 10, kPart, 2, 4},
        {"bytes=2-99", 10, kPart, 2, 8},
        {"bytes=-3", 10, kPart, 7, 3},
        {"bytes=-99", 10, kPart, 0, 10},
        {"BYTES=1-2", 10, kPart, 1, 2},
        {"bytes=10-", 10, kUnsatisfiable, 0, 0},
        {"bytes=0-", 0, kUnsatisfiable, 0, 0},
        {"bytes=-0", 10, kUnsatisfiable, 0, 0},
        {"bytes=5-2", 10, kWhole, 0, 0},
        {"bytes=0-1,3-4", 10, kWhole, 0, 0},
        {"bytes=-", 10, kWhole, 0, 0},
        {"bytes=a-b", 10, kWhole, 0, 0},
        {"bytes=1-b", 10, kWhole, 0, 0},
        {"items=1-2", 10, kWhole, 0, 0},
        {"", 10, kWhole, 0, 0},
        {"bytes=99999999999999999999-", 10, kWhole, 0, 0},
    };
    for (auto& row : table) {
        auto result = parse_range(row.value, row.size);
        EXPECT_EQ(result.kind, row.kind) << row.value;
        EXPECT_EQ(result.range.first, row.first) << row.value;
        EXPECT_EQ(result.range.length, row.length) << row.value;
    }
    EXPECT_EQ(content_range({2, 4}, 10), "bytes 2-5/10");
    EXPECT_EQ(content_range_unsatisfied(10), "bytes */10");
}

TEST(Date, FormatsAndParses) {
    EXPECT_EQ(format_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(format_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(format_date(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
    for (auto text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"})
        EXPECT_EQ(parse_date(text), 784111777) << text;
    for (int64_t t : {INT64_C(-1), INT64_C(1700000000), INT64_C(4102444800)}) EXPECT_EQ(parse_date(format_date(t)), t);
    format_date(INT64_MAX);
    format_date(INT64_MIN);
    for (auto bad : {"", "x", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994",
                     "Sun, 06 Xxx 1994 08:49:37 GMT", "Sun, 06 Nov 19x4 08:49:37 GMT"})
        EXPECT_FALSE(parse_date(bad)) << bad;
}

TEST(Mime, Types) {
    EXPECT_EQ(mime_type("/a/b.M3U8"), "application/vnd.apple.mpegurl");
    EXPECT_EQ(mime_type("/a.ts/b"), "application/octet-stream");
    EXPECT_EQ(mime_type("index.html"), "text/html; charset=utf-8");
}

TEST(Conditional, Table) {
    Validators v{"\"abc\"", 784111777};
    auto with = [](std::string name, std::string value) {
        Headers h;
        h.add(std::move(name), std::move(value));
        return h;
    };
    EXPECT_FALSE(not_modified(Headers(), v));
    EXPECT_TRUE(not_modified(with("If-None-Match", "\"x\", W/\"abc\""), v));
    EXPECT_TRUE(not_modified(with("If-None-Match", "*"), v));
    EXPECT_FALSE(not_modified(with("If-None-Match", "\"x\""), v));
    EXPECT_TRUE(not_modified(with("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"), v));
    EXPECT_FALSE(not_modified(with("If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"), v));
    EXPECT_FALSE(not_modified(with("If-Modified-Since", "yesterday"), v));
    EXPECT_TRUE(precondition_failed(with("If-Match", "\"x\""), v));
    EXPECT_FALSE(precondition_failed(with("If-Match", "\"abc\""), v));
    EXPECT_TRUE(precondition_failed(with("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT"), v));
    EXPECT_TRUE(range_applies(Headers(), v));
    EXPECT_TRUE(range_applies(with("If-Range", "\"abc\""), v));
    EXPECT_FALSE(range_applies(with("If-Range", "W/\"abc\""), v));
    EXPECT_TRUE(range_applies(with("If-Range", "Sun, 06 Nov 1994 08:49:37 GMT"), v));
}

TEST(ResponseHead, KeepsLinesWhole) {
    EXPECT_EQ(HeadWriter(404).field("A", "b").field("C", 5).finish(), "HTTP/1.1 404 Not Found\r\nA: b\r\nC: 5\r\n\r\n");
    EXPECT_EQ(HeadWriter(200).field("A", "b\r\nC: d").finish(), "HTTP/1.1 200 OK\r\nA: b  C: d\r\n\r\n");
    // Each character, at each distance from the value's ends.
    for (int c = 0; c < 256; ++c) {
        for (size_t before = 0; before < 18; ++before) {
            std::string value(before, 'a');
            value.append(1, static_cast<char>(c)).append(17 - before, '\xe4');
            std::string kept = value;
            if (c < 0x20 || c == 0x7f) kept[before] = ' ';
            ASSERT_EQ(HeadWriter(200).field("A", value).finish(), "HTTP/1.1 200 OK\r\nA: " + kept + "\r\n\r\n") << c;
        }
    }
    EXPECT_EQ(HeadWriter(200).lines("A: b\r\nC: d\r\n").finish(), "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n");
    EXPECT_EQ(chunk_prefix(420), "1a4\r\n");
}

struct Answer {
    int status = 0;
    std::string body;
    bool complete = false;
    bool error = false;
};

Answer read_response(std::string_view text, size_t piece, bool closed, bool to_head = false) {
    ResponseParser parser({}, to_head);
    Answer answer;
    while (true) {
        size_t used = 0;
        auto step = parser.feed({reinterpret_cast<const uint8_t*>(text.data()), std::min(piece, text.size())}, used);
        text.remove_prefix(used);
        if (step == ResponseParser::Step::kHead) answer.status = parser.response().status;
        if (step == ResponseParser::Step::kBody)
            answer.body.append(reinterpret_cast<const char*>(parser.data().data()), parser.data().size());
        if (step == ResponseParser::Step::kNeedMore && text.empty()) {
            if (!closed) return answer;
            step = parser.finish();
        }
        answer.complete = step == ResponseParser::Step::kMessage;
        answer.error = step == ResponseParser::Step::kError;
        if (answer.complete || answer.error) return answer;
    }
}

TEST(ResponseParser, Framings) {
    for (size_t piece : {1, 3, 1000}) {
        auto length = read_response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcrest", piece, false);
        EXPECT_TRUE(length.complete);
        EXPECT_EQ(length.body, "abc");
        auto chunked = read_response(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", piece, false);
        EXPECT_TRUE(chunked.complete);
        EXPECT_EQ(chunked.body, "abcd");
        auto closed = read_response("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc", piece, true);
        EXPECT_TRUE(closed.complete);
        EXPECT_EQ(closed.body, "abc");
        EXPECT_FALSE(read_response("HTTP/1.1 200 OK\r\n\r\nabc", piece, false).complete);
        EXPECT_TRUE(read_response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", piece, true).error);
        EXPECT_TRUE(read_response("HTTP/1.1 204 No Content\r\n\r\n", piece, false).complete);
        EXPECT_TRUE(read_response("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", piece, false, true).complete);
        auto interim = read_response("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
                                     piece, false);
        EXPECT_TRUE(interim.complete);
        EXPECT_EQ(interim.status, 201);
        EXPECT_TRUE(
            read_response("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x82",
                          piece, false)
                .complete);
        EXPECT_TRUE(read_response("HELLO\r\n\r\n", piece, false).error);
        EXPECT_TRUE(read_response("HTTP/2.0 200 OK\r\n\r\n", piece, false).error);
        EXPECT_TRUE(read_response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", piece, false).error);
        EXPECT_TRUE(read_response("HTTP/1.1 200 OK\r\nX: " + std::string(20000, 'a'), piece, false).error);
    }
}

TEST(ResponseParser, EndlessInterimResponses) {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += "HTTP/1.1 100 Continue\r\n\r\n";
    EXPECT_TRUE(read_response(text, 1000, false).error);
}

TEST(AbsoluteUrl, Parts) {
    auto url = parse_absolute_url("http://Example.com/a/b?c=d#e");
    ASSERT_TRUE(url);
    EXPECT_EQ(url->host, "example.com");
    EXPECT_EQ(url->port, 80);
    EXPECT_EQ(url->authority, "example.com");
    EXPECT_EQ(url->target, "/a/b?c=d");
    EXPECT_FALSE(url->tls);
    url = parse_absolute_url("HTTPS://[::1]:8443?x");
    ASSERT_TRUE(url);
    EXPECT_EQ(url->host, "::1");
    EXPECT_EQ(url->authority, "[::1]:8443");
    EXPECT_EQ(url->target, "/?x");
    EXPECT_TRUE(url->tls);
    EXPECT_EQ(parse_absolute_url("https://h:443")->authority, "h");
    for (const char* bad : {"", "h/p", "/p", "ftp://h/", "http:///p", "http://u:p@h/", "http://h/a b", "http://h/\r\n",
                            "http://h:0x50/", "*"})
        EXPECT_FALSE(parse_absolute_url(bad)) << bad;
}

TEST(Url, ReferencesAreRelativeToADirectory) {
    EXPECT_EQ(relative_reference("a/b/c.m3u8", "a/b/c-1.ts"), "c-1.ts");
    EXPECT_EQ(relative_reference("a/b/c.m3u8", "a/d/c-1.ts"), "../d/c-1.ts");
    EXPECT_EQ(relative_reference("a/b/c.m3u8", "d/c#1?.ts"), "../../d/c%231%3F.ts");
    EXPECT_EQ(relative_reference("c.m3u8", "d/c.ts"), "d/c.ts");
    EXPECT_EQ(directory_of("a/b/"), "a/b/");
    EXPECT_EQ(directory_of("b"), "");
}

}  // namespace
}  // namespace http
