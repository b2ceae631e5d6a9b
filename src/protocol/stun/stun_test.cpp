#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/hex_testing.h"
#include "protocol/stun/demux.h"
#include "protocol/stun/message.h"
#include "protocol/stun/writer.h"

namespace stun {
namespace {

using Bytes = std::vector<uint8_t>;

// The messages of RFC 5769, 2.1 to 2.3.
constexpr std::string_view kPassword = "VOkJxbRl1RmTxUk/WvJxBt";
const Bytes kRequest = base::hex(
    "00010058 2112a442 b7e7a701 bc34d686 fa87dfae 80220010 5354554e 20746573 7420636c 69656e74 00240004 6e0001ff"
    "80290008 932ff9b1 51263b36 00060009 6576746a 3a683676 59202020 00080014 9aeaa70c bfd8cb56 781ef2b5 b2d3f249"
    "c1b571a2 80280004 e57a3bcf");
const Bytes kResponseV4 = base::hex(
    "0101003c 2112a442 b7e7a701 bc34d686 fa87dfae 8022000b 74657374 20766563 746f7220 00200008 0001a147 e112a643"
    "00080014 2b91f599 fd9e90c3 8c7489f9 2af9ba53 f06be7d7 80280004 c07d4c96");
const Bytes kResponseV6 = base::hex(
    "01010048 2112a442 b7e7a701 bc34d686 fa87dfae 8022000b 74657374 20766563 746f7220 00200014 0002a147 0113a9fa"
    "a5d3f179 bc25f4b5 bed2b9d9 00080014 a382954e 4be67bf1 1784c97c 8292c275 bfe3ed41 80280004 c8fb0b4c");

TEST(StunMessage, ReadsTheSampleRequest) {
    auto message = parse(kRequest);
    ASSERT_TRUE(message) << message.error().text();
    EXPECT_EQ(message->kind, Class::kRequest);
    EXPECT_EQ(message->method, kBinding);
    EXPECT_EQ(message->username, "evtj:h6vY");
    EXPECT_EQ(message->receiver_ufrag(), "evtj");
    EXPECT_EQ(message->sender_ufrag(), "h6vY");
    EXPECT_EQ(message->priority, 0x6e0001ffu);
    EXPECT_EQ(message->controlled, 0x932ff9b151263b36u);
    EXPECT_FALSE(message->controlling);
    EXPECT_FALSE(message->use_candidate);
    EXPECT_TRUE(message->has_fingerprint);
    EXPECT_EQ(message->unknown_count, 0u);
    EXPECT_TRUE(message->check_integrity(kPassword));
    EXPECT_FALSE(message->check_integrity("VOkJxbRl1RmTxUk/WvJxBu"));
    EXPECT_FALSE(message->check_integrity(""));
}

TEST(StunMessage, ReadsTheSampleResponses) {
    auto v4 = parse(kResponseV4);
    ASSERT_TRUE(v4) << v4.error().text();
    EXPECT_EQ(v4->kind, Class::kSuccess);
    ASSERT_TRUE(v4->mapped);
    EXPECT_EQ(v4->mapped->text(), "192.0.2.1:32853");
    EXPECT_TRUE(v4->check_integrity(kPassword));
    auto v6 = parse(kResponseV6);
    ASSERT_TRUE(v6) << v6.error().text();
    ASSERT_TRUE(v6->mapped);
    EXPECT_EQ(v6->mapped->text(), "[2001:db8:1234:5678:11:2233:4455:6677]:32853");
    EXPECT_TRUE(v6->check_integrity(kPassword));
}

TEST(StunMessage, WritesTheSampleResponses) {
    for (const Bytes* sample : {&kResponseV4, &kResponseV6}) {
        auto message = parse(*sample);
        ASSERT_TRUE(message);
        std::array<uint8_t, 200> out;
        Writer writer(out, Class::kSuccess, message->transaction);
        // The samples pad with blanks.
        writer.attribute(Attribute::kSoftware, std::span(reinterpret_cast<const uint8_t*>("test vector"), 11));
        writer.mapped(*message->mapped);
        const size_t size = writer.finish(kPassword);
        ASSERT_EQ(size, sample->size());
        auto again = parse(std::span(out).first(size));
        ASSERT_TRUE(again) << again.error().text();
        EXPECT_EQ(again->mapped, message->mapped);
        EXPECT_TRUE(again->check_integrity(kPassword));
        EXPECT_TRUE(std::equal(sample->begin(), sample->begin() + 24, out.begin()));
    }
}

TEST(StunMessage, AnyChangedBitIsSeen) {
    for (size_t i = 0; i < kRequest.size(); ++i) {
        Bytes changed = kRequest;
        changed[i] ^= 0x10;
        auto message = parse(changed);  // the fingerprint covers everything, unless its own type was changed
        EXPECT_FALSE(message && message->has_fingerprint) << "byte " << i;
        EXPECT_EQ(message.has_value(), i == kRequest.size() - 8 || i == kRequest.size() - 7) << "byte " << i;
    }
}

// Without the fingerprint only the integrity detects a change.
TEST(StunMessage, AChangedBitBreaksTheIntegrity) {
    std::array<uint8_t, 200> out;
    Writer writer(out, Class::kRequest, TransactionId{1, 2, 3});
    writer.username("abcd:efgh");
    writer.priority(7);
    const size_t size = writer.finish("secret", false);
    ASSERT_EQ(size, 20u + 16 + 8 + 24);
    for (size_t i = 8; i < size; ++i) {
        auto changed = out;
        changed[i] ^= 1;
        auto message = parse(std::span(changed).first(size));
        EXPECT_FALSE(message && message->check_integrity("secret")) << "byte " << i;
    }
    auto message = parse(std::span(out).first(size));
    ASSERT_TRUE(message);
    EXPECT_TRUE(message->check_integrity("secret"));
    EXPECT_FALSE(message->has_fingerprint);
}

TEST(StunMessage, RefusesWhatIsCut) {
    for (size_t size = 0; size < kRequest.size(); ++size) {
        EXPECT_FALSE(parse(std::span(kRequest).first(size))) << size;
    }
    Bytes longer = kRequest;
    longer.resize(longer.size() + 4);
    EXPECT_FALSE(parse(longer));
}

TEST(StunMessage, RefusesAttributesOfWrongSizes) {
    const Bytes zeros(600);
    struct {
        Attribute type;
        size_t size;
    } const kCases[] = {
        {Attribute::kPriority, 0},         {Attribute::kPriority, 8},       {Attribute::kUseCandidate, 4},
        {Attribute::kIceControlled, 4},    {Attribute::kIceControlling, 0}, {Attribute::kErrorCode, 2},
        {Attribute::kXorMappedAddress, 8}, {Attribute::kUsername, 514},     {Attribute::kMessageIntegrity, 16},
        {Attribute::kFingerprint, 8},
    };
    for (auto& [type, size] : kCases) {
        std::array<uint8_t, 700> out;
        Writer writer(out, Class::kRequest, TransactionId{});
        writer.attribute(type, std::span(zeros).first(size));
        const size_t written = writer.finish("", false);
        ASSERT_GT(written, 0u);
        EXPECT_FALSE(parse(std::span(out).first(written))) << static_cast<int>(type);
    }
}

TEST(StunMessage, CountsUnknownAttributesThatMatter) {
    std::array<uint8_t, 400> out;
    Writer writer(out, Class::kRequest, TransactionId{});
    writer.attribute(static_cast<Attribute>(0xc057), std::array<uint8_t, 3>{});  // may be ignored
    for (uint16_t type = 0x7000; type < 0x7000 + 10; ++type) writer.attribute(static_cast<Attribute>(type), {});
    const size_t size = writer.finish("secret");
    auto message = parse(std::span(out).first(size));
    ASSERT_TRUE(message);
    EXPECT_EQ(message->unknown_count, 10u);
    EXPECT_EQ(message->unknown[0], 0x7000);
    EXPECT_EQ(message->unknown[kMaxUnknown - 1], 0x7007);
}

// An attacker on the path could append attributes after the integrity, which does not cover them.
TEST(StunMessage, DoesNotBelieveWhatFollowsTheIntegrity) {
    std::array<uint8_t, 200> out;
    Writer writer(out, Class::kRequest, TransactionId{});
    writer.username("abcd:efgh");
    size_t size = writer.finish("secret", false);
    const uint8_t kUseCandidate[] = {0, 0x25, 0, 0};
    std::copy(std::begin(kUseCandidate), std::end(kUseCandidate), out.begin() + static_cast<ptrdiff_t>(size));
    size += 4;
    out[3] = static_cast<uint8_t>(size - kHeaderSize);
    auto message = parse(std::span(out).first(size));
    ASSERT_TRUE(message);
    EXPECT_FALSE(message->use_candidate);
    EXPECT_TRUE(message->check_integrity("secret"));
}

TEST(StunMessage, ErrorsAndClasses) {
    for (Class kind : {Class::kRequest, Class::kIndication, Class::kSuccess, Class::kError}) {
        for (uint16_t method : {uint16_t{1}, uint16_t{0xabc}, uint16_t{0xfff}}) {
            std::array<uint8_t, 100> out;
            Writer writer(out, kind, TransactionId{9}, method);
            writer.error(487, "Role Conflict");
            const size_t size = writer.finish("");
            auto message = parse(std::span(out).first(size));
            ASSERT_TRUE(message);
            EXPECT_EQ(message->kind, kind);
            EXPECT_EQ(message->method, method);
            EXPECT_EQ(message->error_code, 487);
            EXPECT_EQ(message->transaction[0], 9);
        }
    }
}

TEST(StunWriter, SaysWhenThereIsNoRoom) {
    for (size_t room = 0; room < 68; ++room) {
        std::vector<uint8_t> out(room);
        Writer writer(out, Class::kSuccess, TransactionId{});
        writer.mapped(base::Endpoint{base::IpAddress::parse("192.0.2.1").value(), 5});
        EXPECT_EQ(writer.finish("key"), room < 20 + 12 + 24 + 8 ? 0u : 64u) << room;
    }
}

TEST(StunDigest, HmacOfTheRfc2202Vectors) {
    auto hmac = [](std::string_view key, std::string_view text) {
        std::string hex;
        for (uint8_t byte : hmac_sha1(key, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}))
            hex += fmt::format("{:02x}", byte);
        return hex;
    };
    EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    EXPECT_EQ(hmac(std::string(80, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
              "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

TEST(Demux, TellsByTheFirstBytes) {
    EXPECT_EQ(packet_kind(kRequest), Packet::kStun);
    struct {
        Bytes bytes;
        Packet kind;
    } const kCases[] = {
        {{}, Packet::kOther},         {{0x80}, Packet::kOther},
        {{0x80, 96}, Packet::kRtp},   {{0x80, 0x80 | 96}, Packet::kRtp},
        {{0xbf, 0}, Packet::kRtp},    {{0x80, 200}, Packet::kRtcp},
        {{0x81, 206}, Packet::kRtcp}, {{0x80, 192}, Packet::kRtcp},
        {{0x80, 223}, Packet::kRtcp}, {{0x80, 191}, Packet::kRtp},
        {{0x80, 224}, Packet::kRtp},  {{20, 254}, Packet::kDtls},
        {{22, 254}, Packet::kDtls},   {{63, 0}, Packet::kDtls},
        {{64, 0}, Packet::kOther},                               // TURN channels
        {{19, 0}, Packet::kOther},    {{0, 1}, Packet::kOther},  // too short for STUN
        {{0xc0, 0}, Packet::kOther},
    };
    for (auto& [bytes, kind] : kCases) EXPECT_EQ(packet_kind(bytes), kind) << (bytes.empty() ? -1 : bytes[0]);
    Bytes no_cookie = kRequest;
    no_cookie[4] = 0;
    EXPECT_EQ(packet_kind(no_cookie), Packet::kOther);
}

}  // namespace
}  // namespace stun
