#include "protocol/srt/session_keys.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/hex_testing.h"
#include "protocol/srt/sessions_testing.h"

namespace srt {
namespace {

using Bytes = std::vector<uint8_t>;

uint8_t next_random = 0;
void fill_counting(std::span<uint8_t> bytes) {
    for (auto& byte : bytes) byte = ++next_random;
}

AesKey repeated_key(uint8_t value, size_t size = 16) { return make_key(Bytes(size, value)); }

const KeyBasis kBasis{.salt = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .kek = repeated_key(0x33)};
const SessionKeys kEvenKey{.even = repeated_key(0x44), .odd = {}};
const RefreshSettings kRefresh{.refresh_packets = 100, .preannounce_packets = 20, .random = fill_counting};

struct KeyPacket {
    std::array<uint8_t, kMaxDatagram> bytes;
    size_t size = 0;
    std::span<const uint8_t> contents() const { return body_of(std::span(bytes).first(size)); }
};
KeyPacket poll_request(SenderKeys& keys, int64_t now_us, int64_t rtt_us = 100'000) {
    KeyPacket packet;
    packet.size = keys.poll(now_us, rtt_us, {.destination = 5, .timestamp_us = 6}, packet.bytes);
    return packet;
}

// The sender of a recorded session refreshes its key twice.
TEST(SrtReceiverKeys, FollowARefreshOfLibsrt) {
    const Bytes conclusion = base::hex(kRefreshSession.conclusion);
    ExtensionReader extensions(parse_handshake(conclusion)->extensions);
    std::optional<KeyMessage> first;
    while (const auto extension = extensions.next()) {
        if (extension->type == ExtensionType::kKmRequest) first = *parse_key_message(extension->contents);
    }
    ASSERT_TRUE(first);
    const KeyBasis basis{.salt = first->salt, .kek = derive_kek(kPassphrase, first->salt, first->key_size)};
    ReceiverKeys keys(*unwrap_keys(*first, basis.kek), basis);
    const std::string_view requests[] = {kRefreshRequest1, kRefreshRequest2};
    const std::string_view responses[] = {kRefreshResponse1, kRefreshResponse2};
    size_t refreshes = 0;
    KeyParity parity = KeyParity::kEven;
    for (const auto& data : kRefreshData) {
        Bytes packet = base::hex(data.datagram);
        const auto header = parse_data(packet);
        ASSERT_TRUE(header);
        const auto payload = std::span(packet).subspan(kHeaderSize);
        if (header->key != parity) {
            parity = header->key;
            if (refreshes == 0) {
                EXPECT_FALSE(keys.decrypt(*header, payload)) << "the odd key is not known yet";
            }
            const Bytes request = base::hex(requests[refreshes]);
            ASSERT_EQ(parse_control(request)->subtype, kKeyRequest);
            const auto answer = keys.on_key_request(body_of(request));
            EXPECT_TRUE(answer.accepted);
            const Bytes response = base::hex(responses[refreshes]);
            EXPECT_EQ(Bytes(answer.contents().begin(), answer.contents().end()),
                      Bytes(response.begin() + kHeaderSize, response.end()));
            ++refreshes;
        }
        ASSERT_TRUE(keys.decrypt(*header, payload));
        Bytes expected(payload.size());
        std::iota(expected.begin(), expected.end(), data.pattern_start);
        EXPECT_EQ(Bytes(payload.begin(), payload.end()), expected) << header->sequence;
    }
    EXPECT_EQ(refreshes, 2u);
}

TEST(SrtReceiverKeys, ClearDataAndUnknownKeysAreNotDecrypted) {
    ReceiverKeys keys(kEvenKey, kBasis);
    Bytes payload = {1, 2, 3};
    EXPECT_FALSE(keys.decrypt({.key = KeyParity::kNone}, payload));
    EXPECT_FALSE(keys.decrypt({.key = KeyParity::kOdd}, payload));
    EXPECT_FALSE(keys.decrypt({.key = KeyParity::kBoth}, payload));
    EXPECT_EQ(payload, (Bytes{1, 2, 3}));
    EXPECT_TRUE(keys.decrypt({.key = KeyParity::kEven}, payload));
    EXPECT_TRUE(keys.decrypt({.key = KeyParity::kEven}, {})) << "an empty payload";
}

TEST(SrtReceiverKeys, AMessageThatDoesNotFitChangesNothing) {
    ReceiverKeys keys(kEvenKey, kBasis);
    Bytes sealed = {1, 2, 3};
    keys.decrypt({.sequence = 9, .key = KeyParity::kEven}, sealed);
    const auto request = [](const SessionKeys& fresh, const KeyBasis& basis) {
        Bytes bytes(kMaxKeyMessage);
        bytes.resize(write_key_message(bytes, fresh, basis.salt, basis.kek));
        return bytes;
    };
    KeyBasis other_salt = kBasis, other_kek = kBasis, other_size = kBasis;
    other_salt.salt[15] ^= 1;
    other_kek.kek = repeated_key(0x34);
    other_size.kek = repeated_key(0x33, 32);
    Bytes gcm = request({.even = repeated_key(7), .odd = {}}, kBasis);
    gcm[8] = 4;
    struct Case {
        const char* name;
        Bytes contents;
        KeyFailure failure;
    };
    for (const auto& c :
         {Case{"nothing", {}, KeyFailure::kBadSecret}, Case{"bytes", Bytes(1400), KeyFailure::kBadSecret},
          Case{"another salt", request(kEvenKey, other_salt), KeyFailure::kBadSecret},
          Case{"another passphrase", request({.even = repeated_key(7), .odd = {}}, other_kek), KeyFailure::kBadSecret},
          Case{"another size", request({.even = repeated_key(7, 32), .odd = {}}, other_size), KeyFailure::kBadSecret},
          Case{"GCM", gcm, KeyFailure::kBadCipher}}) {
        const auto answer = keys.on_key_request(c.contents);
        EXPECT_FALSE(answer.accepted) << c.name;
        EXPECT_EQ(parse_key_failure(answer.contents()), c.failure) << c.name;
        Bytes opened = sealed;
        EXPECT_TRUE(keys.decrypt({.sequence = 9, .key = KeyParity::kEven}, opened));
        EXPECT_EQ(opened, (Bytes{1, 2, 3})) << c.name;
    }
}

// Sends `count` packets from `sequence` on; returns the parity of the last.
KeyParity send_packets(SenderKeys& keys, uint32_t& sequence, int count) {
    KeyParity parity = KeyParity::kNone;
    for (int i = 0; i < count; ++i) {
        parity = keys.next_parity(sequence);
        sequence = (sequence + 1) & kMaxSequence;
    }
    return parity;
}

TEST(SrtSenderKeys, ARefreshWithAnswer) {
    SenderKeys sender(kEvenKey, kBasis, kRefresh);
    ReceiverKeys receiver(kEvenKey, kBasis);
    uint32_t sequence = kMaxSequence - 50;  // the switch is after the wrap
    const uint32_t first = sequence;
    EXPECT_EQ(send_packets(sender, sequence, 80), KeyParity::kEven);
    EXPECT_EQ(poll_request(sender, 1000).size, 0u) << "80 of 100 packets: nothing yet";
    EXPECT_EQ(sender.deadline_us(), kNever);
    EXPECT_EQ(send_packets(sender, sequence, 1), KeyParity::kEven);
    EXPECT_LE(sender.deadline_us(), 1000);
    const KeyPacket request = poll_request(sender, 1000);
    ASSERT_GT(request.size, 0u);
    const auto header = parse_control(std::span(request.bytes).first(request.size));
    EXPECT_EQ(
        *header,
        (ControlHeader{
            .type = ControlType::kExtension, .subtype = kKeyRequest, .info = 0, .timestamp_us = 6, .destination = 5}));
    EXPECT_EQ(parse_key_message(request.contents())->parity, KeyParity::kBoth);
    const auto answer = receiver.on_key_request(request.contents());
    ASSERT_TRUE(answer.accepted);
    EXPECT_TRUE(sender.on_key_response(answer.contents()));
    EXPECT_FALSE(sender.on_key_response(answer.contents())) << "the same again";
    EXPECT_EQ(sender.deadline_us(), kNever);
    EXPECT_EQ(poll_request(sender, 10'000'000).size, 0u);

    EXPECT_EQ(send_packets(sender, sequence, 19), KeyParity::kEven);
    const uint32_t switched = sequence;
    EXPECT_EQ(send_packets(sender, sequence, 1), KeyParity::kOdd) << "the 101st packet";
    EXPECT_EQ(sender.refreshes(), 1u);
    // Both keys serve repairs.
    for (const auto& [number, parity] : {std::pair{first, KeyParity::kEven}, std::pair{switched - 1, KeyParity::kEven},
                                         std::pair{switched, KeyParity::kOdd}}) {
        EXPECT_EQ(sender.parity_of(number), parity) << number;
        Bytes packet(5);
        sender.encrypt(parity, number, Bytes{1, 2, 3, 4, 5}, packet.data());
        EXPECT_NE(packet, (Bytes{1, 2, 3, 4, 5}));
        EXPECT_TRUE(receiver.decrypt({.sequence = number, .key = parity}, packet));
        EXPECT_EQ(packet, (Bytes{1, 2, 3, 4, 5})) << number;
    }
    // Until the old one has been replaced.
    EXPECT_EQ(send_packets(sender, sequence, 79), KeyParity::kOdd);
    EXPECT_EQ(sender.parity_of(first), KeyParity::kEven);
    send_packets(sender, sequence, 1);
    EXPECT_EQ(sender.parity_of(switched - 1), KeyParity::kNone);
    EXPECT_EQ(sender.parity_of(switched), KeyParity::kOdd);
}

TEST(SrtSenderKeys, ARequestIsRepeatedTenTimesAndThenMadeLater) {
    SenderKeys sender(kEvenKey, kBasis, kRefresh);
    uint32_t sequence = 0;
    send_packets(sender, sequence, 81);
    int64_t now = 5'000'000;
    Bytes first;
    for (int i = 0; i < 10; ++i) {
        const KeyPacket request = poll_request(sender, now);
        ASSERT_GT(request.size, 0u) << i;
        const Bytes contents(request.contents().begin(), request.contents().end());
        if (first.empty()) first = contents;
        EXPECT_EQ(contents, first) << i;
        EXPECT_EQ(sender.deadline_us(), now + 150'000);
        EXPECT_EQ(poll_request(sender, now + 149'999).size, 0u) << i;
        now += 150'000;
    }
    EXPECT_EQ(poll_request(sender, now).size, 0u);
    EXPECT_EQ(sender.deadline_us(), kNever);
    EXPECT_FALSE(sender.on_key_response(first)) << "too late: it would be another key";
    EXPECT_EQ(send_packets(sender, sequence, 20), KeyParity::kEven) << "the peer knows no other key";
    EXPECT_EQ(poll_request(sender, now).size, 0u);
    EXPECT_EQ(send_packets(sender, sequence, 1), KeyParity::kEven);
    const KeyPacket again = poll_request(sender, now);
    ASSERT_GT(again.size, 0u);
    EXPECT_TRUE(sender.on_key_response(again.contents()));
    EXPECT_EQ(send_packets(sender, sequence, 1), KeyParity::kOdd) << "the 100 packets are over long ago";
}

TEST(SrtSenderKeys, OtherAnswersDoNotSwitch) {
    SenderKeys sender(kEvenKey, kBasis, kRefresh);
    uint32_t sequence = 0;
    EXPECT_FALSE(sender.on_key_response({})) << "nothing was asked";
    send_packets(sender, sequence, 81);
    const KeyPacket request = poll_request(sender, 0, 0);
    EXPECT_EQ(sender.deadline_us(), 20'000) << "a round trip of 0 does not make a flood";
    EXPECT_FALSE(sender.on_key_response({}));
    EXPECT_FALSE(sender.on_key_response(write_key_failure(KeyFailure::kBadSecret)));
    EXPECT_FALSE(sender.on_key_response(request.contents().first(request.contents().size() - 1)));
    EXPECT_EQ(send_packets(sender, sequence, 100), KeyParity::kEven);
}

TEST(SrtSenderKeys, BeginWithAnOddKeyWhereThereIsNoOther) {
    SenderKeys sender({.even = {}, .odd = repeated_key(9)}, kBasis, kRefresh);
    EXPECT_EQ(sender.next_parity(1), KeyParity::kOdd);
    EXPECT_EQ(sender.parity_of(1), KeyParity::kOdd);
}

TEST(SrtSenderKeys, ARequestWaitsForRoom) {
    SenderKeys sender(kEvenKey, kBasis, kRefresh);
    uint32_t sequence = 0;
    send_packets(sender, sequence, 81);
    std::array<uint8_t, 40> small;
    EXPECT_EQ(sender.poll(0, 0, {}, small), 0u);
    EXPECT_GT(poll_request(sender, 0).size, 0u);
}

}  // namespace
}  // namespace srt
