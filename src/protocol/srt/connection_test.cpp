#include "protocol/srt/connection.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/bytes.h"
#include "protocol/srt/network_testing.h"

namespace srt {
namespace {

using testing::CheckingSink;
using testing::Pair;
using testing::Random;
using testing::TestHistory;

constexpr uint32_t kOwn = 11, kPeer = 22;

std::vector<uint8_t> control(ControlType type, uint32_t info = 0, std::vector<uint32_t> words = {},
                             uint32_t to = kOwn) {
    std::vector<uint8_t> bytes(kHeaderSize);
    write_control_header(std::span(bytes).first<kHeaderSize>(), {.type = type, .info = info, .destination = to});
    for (uint32_t word : words) base::ByteWriter(bytes).u32(word);
    return bytes;
}

std::vector<uint8_t> data(uint32_t sequence, KeyParity key = KeyParity::kNone) {
    std::vector<uint8_t> bytes(kHeaderSize);
    write_data_header(std::span(bytes).first<kHeaderSize>(), {.sequence = sequence, .key = key, .destination = kOwn});
    const int64_t index = sequence;
    TestHistory history(index);
    history.add(0);
    const auto payload = history.entry(index).bytes;
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

Agreement agreement() { return {.own_id = kOwn, .peer_id = kPeer, .initial_sequence = 1}; }

struct Publisher {
    CheckingSink sink{1};
    Connection connection = Connection::receiving(agreement(), {}, sink, nullptr);
    Connection::Event on(std::vector<uint8_t> bytes) { return connection.on_datagram(0, bytes); }
    ControlHeader next(int64_t now_us = 0) {
        uint8_t buffer[kMaxDatagram];
        const size_t size = connection.next_control(now_us, buffer);
        return size == 0 ? ControlHeader{.type = ControlType{0x7ffe}} : *parse_control(std::span(buffer, size));
    }
};

TEST(SrtConnection, WhatIsNotOfTheSessionChangesNothing) {
    Publisher p;
    EXPECT_EQ(p.on({}), Connection::Event::kIgnored);
    EXPECT_EQ(p.on(control(ControlType::kShutdown, 0, {}, kOwn + 1)), Connection::Event::kIgnored);
    EXPECT_EQ(p.on(control(ControlType::kNak, 0, {1})), Connection::Event::kIgnored);
    EXPECT_EQ(p.on(control(ControlType::kDropRequest, 0, {1})), Connection::Event::kIgnored);
    EXPECT_EQ(p.on(control(ControlType::kAck, 1)), Connection::Event::kIgnored);
    EXPECT_EQ(p.on(control(ControlType{77})), Connection::Event::kIgnored);
    EXPECT_EQ(p.connection.counters().unexpected, 6u);
    EXPECT_EQ(p.connection.end(), Connection::End::kNone);
    EXPECT_EQ(p.on(control(ControlType::kHandshake, 0, {}, 0)), Connection::Event::kHandshake);
    EXPECT_EQ(p.on(control(ControlType::kExtension)), Connection::Event::kKeyMessage);
}

TEST(SrtConnection, AcksAreAnsweredAlsoByAReceiver) {
    Publisher p;
    p.on(control(ControlType::kAck, 5, {1, 1000, 500, 100}));
    p.on(control(ControlType::kAck, 0, {1}));
    const ControlHeader answer = p.next();
    EXPECT_EQ(answer.type, ControlType::kAckAck);
    EXPECT_EQ(answer.info, 5u);
    EXPECT_EQ(answer.destination, kPeer);
    EXPECT_EQ(p.next().type, ControlType{0x7ffe}) << "a light one has no answer";
}

TEST(SrtConnection, KeepalivesAreNotAnswered) {
    Publisher p;
    EXPECT_EQ(p.on(control(ControlType::kKeepalive)), Connection::Event::kNone);
    EXPECT_EQ(p.next().type, ControlType{0x7ffe});
    EXPECT_EQ(p.connection.deadline(), 1'000'000);
    EXPECT_EQ(p.next(1'000'000).type, ControlType::kKeepalive);
    EXPECT_EQ(p.next(1'000'000).type, ControlType{0x7ffe});
}

TEST(SrtConnection, AfterTheEndThereIsOneShutdown) {
    Publisher p;
    p.connection.close(0);
    EXPECT_EQ(p.next().type, ControlType::kShutdown);
    EXPECT_EQ(p.next().type, ControlType{0x7ffe});
    EXPECT_EQ(p.connection.deadline(), kNever);
    Publisher q;
    q.on(control(ControlType::kShutdown, 0, {0}));
    EXPECT_EQ(q.connection.end(), Connection::End::kPeerShutdown);
    EXPECT_EQ(q.next().type, ControlType{0x7ffe});
    EXPECT_EQ(q.on(data(1)), Connection::Event::kIgnored);
}

struct Flip : PayloadDecryptor {
    bool decrypt(const DataHeader& header, std::span<uint8_t> payload) override {
        ++calls;
        if (header.key != KeyParity::kOdd) return false;
        for (uint8_t& byte : payload) byte ^= 0xff;
        return true;
    }
    int calls = 0;
};

TEST(SrtConnection, PayloadsAreDecryptedOnce) {
    Flip flip;
    CheckingSink sink(1);
    Connection connection = Connection::receiving(agreement(), {}, sink, &flip);
    const auto send = [&](uint32_t sequence, KeyParity key) {
        auto bytes = data(sequence, key);
        for (size_t i = kHeaderSize; i < bytes.size() && key != KeyParity::kNone; ++i) bytes[i] ^= 0xff;
        connection.on_datagram(0, bytes);
    };
    send(1, KeyParity::kOdd);
    send(1, KeyParity::kOdd);
    send(2, KeyParity::kEven);
    send(3, KeyParity::kNone);
    send(4, KeyParity::kOdd);
    EXPECT_EQ(flip.calls, 4);
    EXPECT_EQ(sink.error(), "");
    EXPECT_EQ(sink.delivered(), 2u);
    EXPECT_EQ(connection.receiver()->counters().unreadable, 2u) << "what is clear is not from the peer";
}

std::vector<uint8_t> evil_control(Random& random) {
    static constexpr ControlType kTypes[] = {
        ControlType::kAck,         ControlType::kNak,       ControlType::kAckAck,
        ControlType::kDropRequest, ControlType::kKeepalive, ControlType::kCongestionWarning,
        ControlType::kPeerError,   ControlType::kExtension, ControlType::kHandshake};
    std::vector<uint8_t> bytes(kHeaderSize + static_cast<size_t>(random.below(60)));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.chance(0.3) ? random.next() : random.below(2) * 255);
    write_control_header(std::span(bytes).first<kHeaderSize>(),
                         {.type = kTypes[random.below(9)],
                          .info = static_cast<uint32_t>(random.chance(0.5) ? random.below(30) : random.next()),
                          .timestamp_us = static_cast<uint32_t>(random.next())});
    return bytes;
}

TEST(SrtConnection, EvilControlPacketsHurtOnlyTheOwnSession) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        Random random(seed);
        Pair pair({.there = {.loss = 0.02}, .seed = seed, .messages = 300});
        for (int i = 0; i < 500; ++i) {
            pair.run_until(pair.now_us() + 2'000);
            auto bytes = evil_control(random);
            base::put_u32(&bytes[12], pair.sender().agreement().own_id);
            pair.inject_to_sender(bytes);
            base::put_u32(&bytes[12], pair.receiver().agreement().own_id);
            pair.inject_to_receiver(bytes);
            ASSERT_LE(pair.receiver().receiver()->buffered(), 8192u);
        }
        // What was delivered is whole, whatever the order says.
        EXPECT_LE(pair.sender().sender()->counters().bytes, 3'000'000u) << "repairs have a rate";
    }
}

}  // namespace
}  // namespace srt
