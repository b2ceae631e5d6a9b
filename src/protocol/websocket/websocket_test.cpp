#include <fmt/core.h>
#include <gtest/gtest.h>

#include "protocol/websocket/client_frames.h"
#include "protocol/websocket/frame.h"
#include "protocol/websocket/handshake.h"

namespace websocket {
namespace {

// A masked frame. first: FIN, reserved bits and opcode.
std::string frame(uint8_t first, std::string_view payload) {
    std::string out;
    out.push_back(static_cast<char>(first));
    size_t n = payload.size();
    if (n < 126) {
        out.push_back(static_cast<char>(0x80 | n));
    } else if (n <= 0xffff) {
        out += {static_cast<char>(0xfe), static_cast<char>(n >> 8), static_cast<char>(n)};
    } else {
        out.push_back(static_cast<char>(0xff));
        for (int i = 7; i >= 0; --i) out.push_back(static_cast<char>(static_cast<uint64_t>(n) >> (8 * i)));
    }
    const uint8_t mask[4] = {0x12, 0xab, 0x00, 0xff};
    out.append(reinterpret_cast<const char*>(mask), 4);
    for (size_t i = 0; i < n; ++i) out.push_back(static_cast<char>(static_cast<uint8_t>(payload[i]) ^ mask[i & 3]));
    return out;
}

// "text:hello close:1000:bye error:1002"
std::string read(std::string_view text, size_t piece) {
    ClientFrames frames(1000);
    std::string seen;
    while (!text.empty()) {
        size_t used = 0;
        auto message = frames.feed({reinterpret_cast<const uint8_t*>(text.data()), std::min(piece, text.size())}, used);
        text.remove_prefix(used);
        if (frames.error_code()) return seen + fmt::format("error:{}", frames.error_code());
        if (!message) continue;
        seen += fmt::format("{}:{}:{} ", static_cast<int>(message->opcode), message->close_code, message->payload);
    }
    return seen;
}

TEST(WebSocket, ClientFrames) {
    std::string big(1001, 'a'), most(1000, 'a');
    struct {
        std::string bytes;
        std::string seen;
    } table[] = {
        {frame(0x81, "hello"), "1:0:hello "},
        {frame(0x82, ""), "2:0: "},
        {frame(0x82, most), "2:0:" + most + " "},
        {frame(0x01, "he") + frame(0x89, "p") + frame(0x00, "l") + frame(0x80, "lo"), "9:0:p 1:0:hello "},
        {frame(0x88,
               "\x03\xe8"
               "bye") +
             frame(0x81, "more"),
         "8:1000:bye "},
        {frame(0x88, ""), "8:1005: "},
        {frame(0x8a, "x"), "10:0:x "},
        {frame(0x81, "\xe4\xbd\xa0"), "1:0:\xe4\xbd\xa0 "},
        {frame(0x81, "\xff"), "error:1007"},
        {frame(0x82, big), "error:1009"},
        {frame(0x02, most) + frame(0x80, "a"), "error:1009"},
        {std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 10) + "mask", "error:1009"},
        {std::string("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10) + "mask", "error:1002"},
        {std::string("\x82\xfe\x00\x05mask", 8), "error:1002"},
        {std::string("\x82\x05hello"), "error:1002"},
        {frame(0xc1, "a"), "error:1002"},
        {frame(0x83, "a"), "error:1002"},
        {frame(0x8b, "a"), "error:1002"},
        {frame(0x80, "a"), "error:1002"},
        {frame(0x01, "a") + frame(0x01, "b"), "error:1002"},
        {frame(0x09, "a"), "error:1002"},
        {frame(0x89, std::string(126, 'a')), "error:1002"},
        {frame(0x88, "\x03"), "error:1002"},
        {frame(0x88, std::string("\x03\xed", 2)), "error:1002"},
        {frame(0x88, "\x03\xe8\xff"), "error:1007"},
        {"GET / HTTP/1.1\r\n\r\n", "error:1002"},
    };
    for (auto& row : table)
        for (size_t piece : {1, 3, 100000}) EXPECT_EQ(read(row.bytes, piece), row.seen) << row.seen << " by " << piece;
}

TEST(WebSocket, FrameHeaders) {
    uint8_t out[kMaxFrameHeader];
    struct {
        uint64_t n;
        std::string bytes;
    } table[] = {
        {0, std::string("\x82\x00", 2)},
        {125, "\x82\x7d"},
        {126, std::string("\x82\x7e\x00\x7e", 4)},
        {65535, "\x82\x7e\xff\xff"},
        {65536, std::string("\x82\x7f\0\0\0\0\0\x01\0\0", 10)},
    };
    for (auto& row : table) {
        size_t n = frame_header(out, row.n);
        EXPECT_EQ(std::string(reinterpret_cast<char*>(out), n), row.bytes);
        EXPECT_EQ(frame_header_size(row.n), n);
    }
    EXPECT_EQ(close_frame(kNormal, "end").text(),
              "\x88\x05\x03\xe8"
              "end");
    EXPECT_EQ(close_frame(kNormal, std::string(500, 'x')).size(), 127u);
}

http::Request upgrade() {
    http::Request request;
    request.headers.add("Upgrade", "WebSocket");
    request.headers.add("Connection", "keep-alive, Upgrade");
    request.headers.add("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    request.headers.add("Sec-WebSocket-Version", "13");
    return request;
}

// Browsers close a connection whose answer names no subprotocol, or one that they have not offered.
TEST(WebSocket, TheFirstSubprotocolThatIsOfferedIsTaken) {
    const std::pair<const char*, const char*> cases[] = {
        {"flv", "flv"},    {"flv, binary", "flv"}, {" v1.flv ,x", "v1.flv"},
        {"", ""},          {",flv", ""},           {"a b", ""},
        {"a\tb, flv", ""}, {"a\"b", ""},           {"\xff", ""},
    };
    EXPECT_EQ(upgrade_response(upgrade(), "d", "s").find("Sec-WebSocket-Protocol"), std::string::npos);
    for (const auto& [offered, taken] : cases) {
        http::Request request = upgrade();
        request.headers.add("Sec-WebSocket-Protocol", offered);
        EXPECT_EQ(offered_subprotocol(request), taken) << offered;
        const std::string response = upgrade_response(request, "d", "s");
        const std::string line = std::string("Sec-WebSocket-Protocol: ") + taken + "\r\n";
        EXPECT_EQ(response.find(line) != std::string::npos, *taken != '\0') << offered;
        EXPECT_EQ(response.find("Sec-WebSocket-Protocol") != std::string::npos, *taken != '\0') << offered;
    }
    // Two fields are one list.
    http::Request two = upgrade();
    two.headers.add("Sec-WebSocket-Protocol", "a");
    two.headers.add("Sec-WebSocket-Protocol", "b");
    EXPECT_EQ(offered_subprotocol(two), "a");
}

TEST(WebSocket, Handshake) {
    EXPECT_EQ(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");  // RFC 6455, section 1.3
    http::Request good = upgrade();
    EXPECT_TRUE(is_upgrade(good));
    EXPECT_EQ(check_upgrade(good).status, 0);
    EXPECT_NE(upgrade_response(good, "d", "s").find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
              std::string::npos);
    http::Request post = upgrade();
    post.method = http::Method::kPost;
    EXPECT_EQ(check_upgrade(post).status, 400);
    http::Request old = upgrade();
    old.headers.set("Sec-WebSocket-Version", "8");
    EXPECT_EQ(check_upgrade(old).status, 426);
    for (auto key : {"", "short", "dGhlIHNhbXBsZSBub25jZQ=?", "dGhlIHNhbXBsZSBub25j!Q=="}) {
        http::Request bad = upgrade();
        bad.headers.set("Sec-WebSocket-Key", key);
        EXPECT_EQ(check_upgrade(bad).status, 400) << key;
    }
}

TEST(WebSocket, Utf8) {
    for (auto good : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(is_utf8(good));
    for (auto bad : {"\x80", "\xc0\x80", "\xc2", "\xe0\x9f\x80", "\xed\xa0\x80", "\xf0\x8f\x80\x80", "\xf4\x90\x80\x80",
                     "\xf5\x80\x80\x80", "a\xe4\xbd"})
        EXPECT_FALSE(is_utf8(bad));
}

}  // namespace
}  // namespace websocket
