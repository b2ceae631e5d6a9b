#include "service/relay/srt_quality.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "protocol/srt/packet.h"

namespace service::relay {
namespace {

struct Nowhere final : ::srt::DataSink {
    void on_message(const Message&) override {}
};

constexpr uint32_t kOwnId = 7;

// A data packet of 188 bytes for us.
std::vector<uint8_t> data(uint32_t sequence, int64_t time_us, bool again = false) {
    std::vector<uint8_t> datagram(::srt::kHeaderSize + 188, 0x47);
    ::srt::DataHeader header;
    header.sequence = sequence;
    header.destination = kOwnId;
    header.timestamp_us = static_cast<uint32_t>(time_us);
    header.retransmitted = again;
    ::srt::write_data_header(std::span<uint8_t, ::srt::kHeaderSize>(datagram.data(), ::srt::kHeaderSize), header);
    return datagram;
}

TEST(SrtMeter, WhatWasLostIsForgottenAfterTenSeconds) {
    Nowhere sink;
    auto connection = ::srt::Connection::receiving(
        {.own_id = kOwnId, .receive_latency_us = 300'000, .peer_version = 0x010502}, {}, sink, nullptr);
    SrtMeter meter;
    int64_t now_us = 1'000;
    uint32_t next = 0;
    const auto second = [&](bool lossy) {
        for (int i = 0; i < 10; ++i, ++next, now_us += 100'000) {
            if (lossy && i == 5) continue;
            std::vector<uint8_t> datagram = data(next, now_us);
            connection.on_datagram(now_us, datagram);
            if (!lossy || i != 6) continue;
            datagram = data(next - 1, now_us - 100'000, true);
            connection.on_datagram(now_us, datagram);
        }
        meter.on_second(connection);
    };
    for (int i = 0; i < 4; ++i) second(true);
    net::SrtQuality quality = meter.quality(connection, 16);
    EXPECT_NEAR(quality.lost_percent, 10, 0.5);
    EXPECT_NEAR(quality.retransmitted_percent, 10, 0.5);
    EXPECT_FALSE(quality.rtt_ms) << "nothing was measured";
    EXPECT_EQ(quality.latency_ms, 300);
    EXPECT_EQ(quality.key_bits, 128);
    EXPECT_EQ(quality.peer_version, 0x010502u);
    EXPECT_EQ(quality.dropped, 0u);
    for (int i = 0; i < 8; ++i) second(false);
    EXPECT_GT(meter.quality(connection, 0).lost_percent, 0);
    for (int i = 0; i < 6; ++i) second(false);
    quality = meter.quality(connection, 0);
    EXPECT_EQ(quality.lost_percent, 0);
    EXPECT_EQ(quality.retransmitted_percent, 0);
}

}  // namespace
}  // namespace service::relay
