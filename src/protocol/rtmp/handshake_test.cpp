#include "protocol/rtmp/handshake.h"

#include <gtest/gtest.h>
#include <openssl/hmac.h>

#include <algorithm>

namespace rtmp {
namespace {

uint32_t seed = 1;
void fill(std::span<uint8_t> bytes) {
    for (uint8_t& b : bytes) {
        seed = seed * 1664525 + 1013904223;
        b = static_cast<uint8_t>(seed >> 24);
    }
}

// A client's C1 by either scheme, built here independently of the code under test.
std::vector<uint8_t> digest_c0c1(int scheme) {
    std::vector<uint8_t> c(1537);
    fill(c);
    c[0] = 3;
    uint8_t* p = c.data() + 1;
    size_t block = scheme == 0 ? 772 : 8;
    size_t offset = block + 4 + (p[block] + p[block + 1] + p[block + 2] + p[block + 3]) % 728;
    std::vector<uint8_t> rest(p, p + offset);
    rest.insert(rest.end(), p + offset + 32, p + 1536);
    unsigned n = 32;
    HMAC(EVP_sha256(), "Genuine Adobe Flash Player 001", 30, rest.data(), rest.size(), p + offset, &n);
    return c;
}

TEST(ServerHandshake, SimpleEchoes) {
    ServerHandshake h(fill);
    std::vector<uint8_t> c(1537, 7), out;
    c[0] = 3;
    std::fill_n(c.begin() + 5, 4, 0);
    auto n = h.feed(c, 99, out);
    ASSERT_TRUE(n);
    EXPECT_EQ(*n, 1537u);
    ASSERT_EQ(out.size(), 3073u);
    EXPECT_EQ(out[0], 3);
    EXPECT_EQ(out[4], 99);
    EXPECT_EQ(out[5], 0);
    EXPECT_FALSE(h.digest());
    EXPECT_TRUE(std::equal(c.begin() + 1, c.end(), out.begin() + 1537));
    EXPECT_FALSE(h.done());
    std::vector<uint8_t> c2(1540, 0);
    n = h.feed(c2, 100, out);
    EXPECT_EQ(*n, 1536u);
    EXPECT_TRUE(h.done());
    EXPECT_EQ(*h.feed(c2, 100, out), 0u);
}

TEST(ServerHandshake, DigestBothSchemes) {
    for (int scheme : {0, 1}) {
        ServerHandshake h(fill);
        std::vector<uint8_t> out;
        auto c = digest_c0c1(scheme);
        ASSERT_EQ(find_digest(std::span(c).subspan(1), Side::kClient), scheme);
        ASSERT_TRUE(h.feed(c, 5, out));
        EXPECT_TRUE(h.digest());
        ASSERT_EQ(out.size(), 3073u);
        EXPECT_GE(out[5], 3);
        EXPECT_EQ(find_digest(std::span(out).subspan(1, 1536), Side::kServer), scheme);
    }
}

TEST(ServerHandshake, ByteByByte) {
    for (int scheme : {0, 1, 2}) {
        ServerHandshake h(fill);
        std::vector<uint8_t> out;
        auto c = scheme < 2 ? digest_c0c1(scheme) : std::vector<uint8_t>(1537, 3);
        c.resize(1537 + 1536);
        for (size_t i = 0; i < c.size(); ++i) {
            EXPECT_FALSE(h.done());
            ASSERT_EQ(*h.feed(std::span(c).subspan(i, 1), 5, out), 1u);
        }
        EXPECT_TRUE(h.done());
        EXPECT_EQ(out.size(), 3073u);
    }
}

TEST(ServerHandshake, Bad) {
    struct Row {
        uint8_t version;
        const char* why;
    };
    for (Row row : {Row{0, "version 0"}, Row{6, "encrypted"}, Row{'G', "version 71"}, Row{255, "version 255"}}) {
        ServerHandshake h(fill);
        std::vector<uint8_t> out;
        auto r = h.feed(std::span(&row.version, 1), 0, out);
        ASSERT_FALSE(r);
        EXPECT_NE(r.error().text().find(row.why), std::string::npos) << r.error().text();
        EXPECT_TRUE(out.empty());
    }
}

TEST(ServerHandshake, SaysWhereItStalled) {
    ServerHandshake h(fill);
    std::vector<uint8_t> out, c(101, 3);
    EXPECT_EQ(h.progress(), "waiting for C0");
    ASSERT_TRUE(h.feed(c, 0, out));
    EXPECT_EQ(h.progress(), "waiting for C1, 100 of 1536 bytes");
    c.resize(1436);
    ASSERT_TRUE(h.feed(c, 0, out));
    EXPECT_EQ(h.progress(), "waiting for C2, 0 of 1536 bytes");
}

TEST(ClientHandshake, WithOurServer) {
    for (bool digest : {false, true}) {
        ClientHandshake client(fill, digest);
        ServerHandshake server(fill);
        std::vector<uint8_t> to_server, to_client;
        client.start(1, to_server);
        ASSERT_TRUE(server.feed(to_server, 2, to_client));
        EXPECT_EQ(server.digest(), digest);
        to_server.clear();
        to_client.push_back(0xaa);  // the first byte after the handshake is not consumed
        EXPECT_EQ(*client.feed(to_client, 3, to_server), 3073u);
        EXPECT_TRUE(client.done());
        EXPECT_EQ(*server.feed(to_server, 4, to_client), 1536u);
        EXPECT_TRUE(server.done());
    }
}

TEST(ClientHandshake, BadVersion) {
    ClientHandshake client(fill, false);
    std::vector<uint8_t> out, in(10, 'H');
    EXPECT_FALSE(client.feed(in, 0, out));
}

}  // namespace
}  // namespace rtmp
