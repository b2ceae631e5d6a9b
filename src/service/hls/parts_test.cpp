// The small parts: the cipher, gzip, AAC's clock, viewers.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <zlib.h>

#include "runtime/testing.h"
#include "service/hls/aac_clock.h"
#include "service/hls/cipher.h"
#include "service/hls/gzip.h"
#include "service/hls/viewers.h"

namespace service::hls {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string encrypted(Cipher& cipher, std::initializer_list<std::string_view> pieces) {
    std::string out;
    auto add = [&](std::span<const uint8_t> bytes) { out.append(bytes.begin(), bytes.end()); };
    for (std::string_view piece : pieces) add(cipher.encrypt(bytes_of(piece)));
    add(cipher.finish());
    return out;
}

std::string decrypted(const Cipher& cipher, std::string_view text) {
    uint8_t iv[16];
    for (size_t i = 0; i < 16; ++i) iv[i] = static_cast<uint8_t>(std::stoi(cipher.iv().substr(i * 2, 2), nullptr, 16));
    std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    EVP_DecryptInit_ex(context.get(), EVP_aes_128_cbc(), nullptr, cipher.key()->bytes.data(), iv);
    std::string out(text.size() + 16, '\0');
    auto* to = reinterpret_cast<uint8_t*>(out.data());
    int first = 0, last = 0;
    EVP_DecryptUpdate(context.get(), to, &first, bytes_of(text).data(), static_cast<int>(text.size()));
    if (EVP_DecryptFinal_ex(context.get(), to + first, &last) != 1) return "bad padding";
    return out.substr(0, static_cast<size_t>(first + last));
}

TEST(Cipher, WhatItEncryptsCanBeReadWithItsKeyAndIv) {
    Cipher cipher;
    for (std::string_view text : {"", "0123456789abcde", "0123456789abcdef", "0123456789abcdef0"}) {
        ASSERT_TRUE(cipher.begin(5));
        std::string secret = encrypted(cipher, {text.substr(0, text.size() / 3), text.substr(text.size() / 3)});
        EXPECT_EQ(secret.size(), text.size() / 16 * 16 + 16);
        EXPECT_EQ(decrypted(cipher, secret), text);
    }
}

TEST(Cipher, AKeyIsForSoManySegmentsAndAnIvForOne) {
    Cipher cipher;
    std::vector<std::shared_ptr<const SegmentKey>> keys;
    std::vector<std::string> ivs;
    for (int i = 0; i < 6; ++i) {
        ASSERT_TRUE(cipher.begin(3));
        keys.push_back(cipher.key());
        ivs.push_back(cipher.iv());
        EXPECT_EQ(cipher.iv().size(), 32u);
        encrypted(cipher, {"x"});
    }
    EXPECT_TRUE(keys[0] == keys[2] && keys[3] == keys[5] && keys[2] != keys[3]);
    EXPECT_NE(keys[0]->bytes, keys[3]->bytes);
    std::sort(ivs.begin(), ivs.end());
    EXPECT_EQ(std::unique(ivs.begin(), ivs.end()), ivs.end());
}

TEST(Gzip, IsWhatGunzipReads) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "#EXTINF:2.000,\nlivestream-" + std::to_string(i) + ".ts\n";
    std::string zipped = gzip(text);
    ASSERT_LT(zipped.size(), text.size() / 3);
    z_stream stream{};
    ASSERT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
    std::string out(text.size() + 1, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(zipped.data());
    stream.avail_in = static_cast<uInt>(zipped.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    inflateEnd(&stream);
    EXPECT_EQ(out, text);
}

TEST(Gzip, WhoWantsIt) {
    for (const char* yes : {"gzip", "br, gzip", "GZIP;q=0.5", "*", "deflate , gzip ; q=1", "gzip;q=0.001"})
        EXPECT_TRUE(accepts_gzip(yes)) << yes;
    for (const char* no : {"", "br", "gzip;q=0", "gzip; q=0.000", "x-gzip", "identity, deflate", ",,"})
        EXPECT_FALSE(accepts_gzip(no)) << no;
}

TEST(AacClock, CountsSamplesWhileTimesAgree) {
    AacClock clock;
    // 1,024 samples at 44.1 kHz are 23.2 ms; the published times jitter around it.
    const int64_t jittered[] = {1'000, 1'040, 1'030, 1'075, 1'085};
    const int64_t even[] = {1'000, 1'023, 1'046, 1'070, 1'093};
    for (int i = 0; i < 5; ++i) EXPECT_EQ(clock.correct(jittered[i], 1'024, 44'100), even[i]);
    // A gap is one.
    EXPECT_EQ(clock.correct(2'000, 1'024, 44'100), 2'000);
    EXPECT_EQ(clock.correct(2'020, 1'024, 44'100), 2'023);
    EXPECT_EQ(clock.correct(500, 1'024, 44'100), 500);
    // No configuration: as it is.
    EXPECT_EQ(clock.correct(777, 0, 0), 777);
    // It does not drift: an hour of frames with the times of a good publisher, which rounds to ms.
    AacClock hour;
    for (int64_t n = 0; n < 155'000; ++n) {
        int64_t exact = n * 1'024'000 / 44'100;
        EXPECT_LE(std::abs(hour.correct(exact, 1'024, 44'100) - exact), 1);
    }
}

const net::Visitor kAsk{
    net::Action::kPlay, net::SessionType::kHlsPlay, "abc", "1.2.3.4", "v", "live", "s", "", "rtmp://v/live", "", ""};

TEST(Viewers, AreSessionsUntilTheyAreSilent) {
    runtime::testing::start_loop_once();
    net::SessionTable table;
    Viewers viewers(table);
    ASSERT_TRUE(viewers.asked("abc", kAsk, 10'000, 0, 1'000));
    ASSERT_TRUE(viewers.asked("abc", kAsk, 10'000, 0, 5'000));
    EXPECT_TRUE(viewers.received("abc", 10));
    EXPECT_FALSE(viewers.received("unknown", 10));
    EXPECT_TRUE(viewers.sent("abc", 200, 6'000));
    EXPECT_FALSE(viewers.sent("unknown", 200, 6'000));
    ASSERT_EQ(table.size(), 1u);
    net::Session* session = table.find("abc");
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->type(), net::SessionType::kHlsPlay);
    EXPECT_EQ(session->stream_url(), "v/live/s");
    EXPECT_EQ(session->traffic().received_bytes, 10u);
    EXPECT_EQ(session->traffic().sent_bytes, 200u);
    ASSERT_NE(session->stream_account(), nullptr);
    EXPECT_EQ(session->stream_account()->text(), "v/live/s");
    EXPECT_EQ(session->details().tc_url, "rtmp://v/live");
    viewers.tick(15'999);
    EXPECT_EQ(table.size(), 1u);
    viewers.tick(16'000);
    EXPECT_EQ(table.size(), 0u);
}

TEST(Viewers, OneThatIsKickedStaysOut) {
    runtime::testing::start_loop_once();
    net::SessionTable table;
    Viewers viewers(table);
    ASSERT_TRUE(viewers.asked("abc", kAsk, 10'000, 0, 1'000));
    table.find("abc")->kick("by the operator");
    viewers.tick(1'100);
    EXPECT_EQ(table.size(), 0u);
    EXPECT_TRUE(viewers.banned("abc"));
    auto again = viewers.asked("abc", kAsk, 10'000, 0, 1'200);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code(), base::Code::kRefused);
    viewers.tick(62'000);
    EXPECT_TRUE(viewers.asked("abc", kAsk, 10'000, 0, 62'000));
}

TEST(Viewers, AreBoundedByMaxConnections) {
    runtime::testing::start_loop_once();
    net::SessionTable table;
    Viewers viewers(table);
    ASSERT_TRUE(viewers.asked("a", kAsk, 10'000, 2, 0));
    ASSERT_TRUE(viewers.asked("b", kAsk, 10'000, 2, 0));
    EXPECT_TRUE(viewers.asked("a", kAsk, 10'000, 2, 0));
    auto third = viewers.asked("c", kAsk, 10'000, 2, 0);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code(), base::Code::kLimit);
    EXPECT_TRUE(Viewers::is_context("aZ09-_"));
    // Longer than a session's id, but a context that some player may have.
    table.find("a")->kick("room");
    viewers.tick(1);
    EXPECT_TRUE(viewers.asked("abcdefghijklmnopqrstuvwxyz012345", kAsk, 10'000, 2, 1));
    EXPECT_EQ(table.size(), 2u);
    for (const char* bad : {"", "a/b", "a b", "../x", "012345678901234567890123456789012"})
        EXPECT_FALSE(Viewers::is_context(bad)) << bad;
}

}  // namespace
}  // namespace service::hls
