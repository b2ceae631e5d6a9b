#include "protocol/http/request_parser.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace http {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Feeds the text in pieces and returns the status of the error, 200 for a complete message, 0 for an incomplete one.
int status_of(std::string_view text, size_t piece, RequestParser& parser, size_t* left = nullptr) {
    while (true) {
        size_t used = 0;
        auto step = parser.feed(bytes_of(text.substr(0, piece)), used);
        text.remove_prefix(used);
        if (left) *left = text.size();
        if (step == RequestParser::Step::kError) return parser.error_status();
        if (step == RequestParser::Step::kMessage) return 200;
        if (step == RequestParser::Step::kHead && !parser.accept_body(100)) return parser.error_status();
        if (step == RequestParser::Step::kNeedMore && text.empty()) return 0;
    }
}

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n";

struct Case {
    std::string name;
    std::string text;
    int status;
};

class MalformedRequest : public testing::TestWithParam<Case> {};

TEST_P(MalformedRequest, WholeAndByteByByte) {
    for (size_t piece : {size_t{100000}, size_t{1}, size_t{7}}) {
        Limits limits;
        limits.header_bytes = 2000;
        limits.target_bytes = 500;
        limits.header_count = 20;
        RequestParser parser(limits);
        EXPECT_EQ(status_of(GetParam().text, piece, parser), GetParam().status)
            << "in pieces of " << piece << ": " << parser.error_text();
    }
}

std::string many_fields(int count) {
    std::string text(kGet);
    for (int i = 0; i < count; ++i) text += "X: y\r\n";
    return text + "\r\n";
}

std::string get(std::string_view fields) { return std::string(kGet) + std::string(fields) + "\r\n"; }
std::string post(std::string_view fields, std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n" + std::string(body);
}
std::string target(std::string_view text) { return "GET " + std::string(text) + " HTTP/1.1\r\nHost: a\r\n\r\n"; }

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedRequest,
    testing::Values(
        Case{"good", get(""), 200}, Case{"empty_value", get("X:\r\nY: z\r\n"), 200},
        Case{"random", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400}, Case{"text", "hello there\r\n\r\n", 400},
        Case{"unknown_method", "BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 200},
        Case{"method_without_end", std::string(3000, 'A'), 501},
        Case{"method_of_no_letters", "A1 / HTTP/1.1\r\n\r\n", 400},
        Case{"method_in_small", "get / HTTP/1.1\r\nHost: a\r\n\r\n", 400}, Case{"method_alone", "GET\r\n\r\n", 400},
        Case{"part_of_a_method", "GE", 0}, Case{"unknown_no_host", "BREW / HTTP/1.1\r\n\r\n", 400},
        Case{"http2_preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        Case{"unknown_of_all", "BREW * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        Case{"connect", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
        Case{"trace", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 200}, Case{"no_version", "GET /\r\n\r\n", 400},
        Case{"http2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
        Case{"http12", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 200}, Case{"version_word", "GET / HTTP/x.y\r\n\r\n", 400},
        Case{"other_protocol", "GET / RTSP/1.0\r\n\r\n", 400},
        Case{"no_target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", 400}, Case{"no_host", "GET / HTTP/1.1\r\n\r\n", 400},
        Case{"no_host_1_0", "GET / HTTP/1.0\r\n\r\n", 200}, Case{"two_hosts", get("Host: b\r\n"), 400},
        Case{"bad_host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
        Case{"bad_host_port", "GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n", 400},
        Case{"bare_lf", "GET / HTTP/1.1\nHost: a\n\n", 400}, Case{"bare_lf_in_field", get("X: y\nZ: w\r\n"), 400},
        Case{"cr_alone", "GET / HTTP/1.1\rHost: a\r\n\r\n", 400}, Case{"folded", get("X: y\r\n z\r\n"), 400},
        Case{"space_before_colon", get("X : y\r\n"), 400}, Case{"space_in_name", get("X Z: y\r\n"), 400},
        Case{"no_colon", get("nothing\r\n"), 400}, Case{"empty_name", get(": y\r\n"), 400},
        Case{"control_in_value", get("X: a\x01z\r\n"), 400},
        Case{"nul_in_value", get(std::string_view("X: a\0z\r\n", 8)), 400},
        Case{"too_many_fields", many_fields(20), 431}, Case{"enough_fields", many_fields(19), 200},
        Case{"long_field", get("X: " + std::string(3000, 'a') + "\r\n"), 431},
        Case{"long_url", target("/" + std::string(600, 'a')), 414},
        Case{"endless_url", "GET /" + std::string(5000, 'a'), 414},
        Case{"endless_empty_lines",
             [] {
                 std::string s;
                 for (int i = 0; i < 2000; ++i) s += "\r\n";
                 return s;
             }(),
             414},
        Case{"empty_lines_first", "\r\n\r\n" + get(""), 200}, Case{"leading_space", " " + get(""), 400},
        Case{"traversal", target("/a/../../etc/passwd"), 400}, Case{"traversal_encoded", target("/%2e%2e/x"), 400},
        Case{"traversal_slash", target("/a%2f..%2fx"), 400}, Case{"traversal_twice", target("/%252e%252e/x"), 400},
        Case{"traversal_backslash", target("/..%5cx"), 400}, Case{"nul_encoded", target("/a%00"), 400},
        Case{"newline_encoded", target("/a%0d%0ab"), 400}, Case{"bad_escape", target("/%zz"), 400},
        Case{"short_escape", target("/a%2"), 400}, Case{"tab_in_url", target("/a\tb"), 400},
        Case{"asterisk", target("*"), 400}, Case{"relative", target("a/b"), 400},
        Case{"absolute", target("http://b:80/x?y"), 200}, Case{"absolute_no_host", target("http:///x"), 400},
        Case{"absolute_user", target("http://u@b/x"), 400}, Case{"ftp", target("ftp://b/x"), 400},
        Case{"length", post("Content-Length: 3\r\n", "abc"), 200},
        Case{"length_unfinished", post("Content-Length: 3\r\n", "ab"), 0},
        Case{"length_negative", post("Content-Length: -3\r\n", ""), 400},
        Case{"length_plus", post("Content-Length: +3\r\n", "abc"), 400},
        Case{"length_hex", post("Content-Length: 0x3\r\n", "abc"), 400},
        Case{"length_empty", post("Content-Length:\r\n", "abc"), 400},
        Case{"length_list", post("Content-Length: 3, 3\r\n", "abc"), 400},
        Case{"length_twice", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400},
        Case{"length_overflow", post("Content-Length: 99999999999999999999\r\n", ""), 400},
        Case{"length_huge", post("Content-Length: 1000000000000000000\r\n", ""), 413},
        Case{"length_over_limit", post("Content-Length: 101\r\n", ""), 413},
        Case{"both_lengths", post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
        Case{"both_lengths_other", post("Transfer-Encoding: gzip, chunked\r\nContent-Length: 3\r\n", ""), 400},
        Case{"coding_unknown", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
        Case{"coding_not_chunked", post("Transfer-Encoding: gzip\r\n", ""), 400},
        Case{"coding_twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", ""), 400},
        Case{"coding_1_0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Chunks, MalformedRequest,
    testing::Values(
        Case{"none", post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), 200},
        Case{"two", post("Transfer-Encoding: Chunked\r\n", "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n"), 200},
        Case{"trailer", post("Transfer-Encoding: chunked\r\n", "0\r\nX: y\r\n\r\n"), 200},
        Case{"unfinished", post("Transfer-Encoding: chunked\r\n", "3\r\nab"), 0},
        Case{"no_size", post("Transfer-Encoding: chunked\r\n", "\r\nabc"), 400},
        Case{"not_hex", post("Transfer-Encoding: chunked\r\n", "xyz\r\n"), 400},
        Case{"negative", post("Transfer-Encoding: chunked\r\n", "-1\r\n"), 400},
        Case{"space_then_text", post("Transfer-Encoding: chunked\r\n", "3 4\r\nabc"), 400},
        Case{"overflow", post("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n"), 400},
        Case{"bare_lf", post("Transfer-Encoding: chunked\r\n", "3\nabc\r\n"), 400},
        Case{"cr_then_data", post("Transfer-Encoding: chunked\r\n", "3\rabc\r\n"), 400},
        Case{"data_too_long", post("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n"), 400},
        Case{"over_limit", post("Transfer-Encoding: chunked\r\n", "65\r\n" + std::string(101, 'a') + "\r\n"), 413},
        Case{"endless_extension", post("Transfer-Encoding: chunked\r\n", "3;" + std::string(5000, 'a')), 400},
        Case{"endless_trailer", post("Transfer-Encoding: chunked\r\n", "0\r\nX: " + std::string(5000, 'a')), 400}),
    [](const auto& info) { return "chunk_" + info.param.name; });

TEST(RequestParser, HandsOutTheParts) {
    RequestParser parser{Limits{}};
    EXPECT_EQ(status_of("POST /live/a%20b.flv?x=1&y=a+b%21&z HTTP/1.1\r\nHost: Example.COM:8080\r\nX-A:  v \t\r\n"
                        "content-length: 5\r\nexpect: 100-Continue\r\n\r\nhello",
                        1000, parser),
              200);
    const Request& request = parser.request();
    EXPECT_EQ(request.method, Method::kPost);
    EXPECT_EQ(request.path, "/live/a b.flv");
    EXPECT_EQ(request.raw_path, "/live/a%20b.flv");
    EXPECT_EQ(request.raw_query, "x=1&y=a+b%21&z");
    EXPECT_EQ(request.parameter("x"), "1");
    EXPECT_EQ(request.parameter("y"), "a b!");
    EXPECT_TRUE(find_parameter(request.parameters, "z"));
    EXPECT_FALSE(find_parameter(request.parameters, "w"));
    EXPECT_EQ(request.host, "example.com");
    EXPECT_EQ(request.port, 8080);
    EXPECT_EQ(request.headers.get("x-a"), "v");
    EXPECT_EQ(request.body, "hello");
    EXPECT_TRUE(request.keep_alive);
    EXPECT_TRUE(request.expects_continue);
}

TEST(RequestParser, ChunkedBody) {
    for (size_t piece : {1, 2, 5, 1000}) {
        RequestParser parser{Limits{}};
        EXPECT_EQ(status_of(post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n"), piece,
                            parser),
                  200);
        EXPECT_EQ(parser.request().body, "abcde");
    }
}

TEST(RequestParser, ABodyIsCountedThatIsNotKept) {
    for (const std::string& text : {post("Content-Length: 6\r\n", "abcdefGET"),
                                    post("Transfer-Encoding: chunked\r\n", "4\r\nabcd\r\n2\r\nef\r\n0\r\n\r\nGET")}) {
        RequestParser parser{Limits{}};
        std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
        size_t used = 0;
        ASSERT_EQ(parser.feed(bytes, used), RequestParser::Step::kHead);
        ASSERT_TRUE(parser.accept_body(6));
        parser.drop_body();
        bytes = bytes.subspan(used);
        EXPECT_EQ(parser.feed(bytes, used), RequestParser::Step::kMessage);
        EXPECT_EQ(bytes.size() - used, 3u) << "the next request is left alone";
        EXPECT_EQ(parser.body_bytes(), 6u);
        EXPECT_EQ(parser.request().body, "");
    }
    const std::string text = post("Transfer-Encoding: chunked\r\n", "7\r\nabcdefg\r\n0\r\n\r\n");
    RequestParser parser{Limits{}};
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    size_t used = 0;
    ASSERT_EQ(parser.feed(bytes, used), RequestParser::Step::kHead);
    ASSERT_TRUE(parser.accept_body(6));
    parser.drop_body();
    EXPECT_EQ(parser.feed(bytes.subspan(used), used), RequestParser::Step::kError) << "the limit is the same";
    EXPECT_EQ(parser.error_status(), 413);
}

TEST(RequestParser, LeavesPipelinedRequestsAlone) {
    std::string first = post("Content-Length: 3\r\n", "abc"), second = target("/second");
    RequestParser parser{Limits{}};
    size_t left = 0;
    EXPECT_EQ(status_of(first + second, 1000, parser, &left), 200);
    EXPECT_EQ(left, second.size());
    parser.reset();
    EXPECT_FALSE(parser.started());
    EXPECT_EQ(status_of(second, 1000, parser, &left), 200);
    EXPECT_EQ(parser.request().path, "/second");
    EXPECT_TRUE(parser.request().body.empty());
}

TEST(RequestParser, KeepAlive) {
    struct {
        std::string_view text;
        bool keep_alive;
    } table[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
    };
    for (auto& row : table) {
        RequestParser parser{Limits{}};
        EXPECT_EQ(status_of(row.text, 1000, parser), 200);
        EXPECT_EQ(parser.request().keep_alive, row.keep_alive) << row.text;
    }
}

TEST(RequestParser, UpgradeEndsTheMessageOnly) {
    RequestParser parser{Limits{}};
    size_t left = 0;
    EXPECT_EQ(status_of(get("Connection: Upgrade\r\nUpgrade: websocket\r\n") + "frames", 1000, parser, &left), 200);
    EXPECT_EQ(left, 6u);
    RequestParser with_body{Limits{}};
    EXPECT_EQ(status_of(post("Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n", "ab"), 1000, with_body),
              200);
    EXPECT_EQ(with_body.request().body, "ab");
}

TEST(RequestParser, AbsoluteFormWinsOverHost) {
    RequestParser parser{Limits{}};
    EXPECT_EQ(status_of("GET http://Other.example:81?q=1 HTTP/1.1\r\nHost: a\r\n\r\n", 1000, parser), 200);
    EXPECT_EQ(parser.request().host, "other.example");
    EXPECT_EQ(parser.request().port, 81);
    EXPECT_EQ(parser.request().path, "/");
    EXPECT_EQ(parser.request().parameter("q"), "1");
}

TEST(RequestParser, OptionsAsterisk) {
    RequestParser parser{Limits{}};
    EXPECT_EQ(status_of("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 1000, parser), 200);
    EXPECT_EQ(parser.request().path, "*");
}

}  // namespace
}  // namespace http
