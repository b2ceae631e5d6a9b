#pragma once
// Helpers for the tests of players and publishers: the SSRCs of their tracks, and a session that records what it is
// given to send, and fails when an SRTP index is used for different bytes.

#include <string>
#include <vector>

#include "config/load.h"
#include "live/hub/registry.h"
#include "protocol/rtp/packet.h"
#include "protocol/srtp/index_check.h"
#include "service/rtc/media.h"

namespace service::rtc::testing {

inline constexpr uint32_t kVideoSsrc = 0x1111, kRtxSsrc = 0x2222, kAudioSsrc = 0x3333;

struct NetSession final : net::Session {
    explicit NetSession(net::SessionTable& table) : Session(table, "fake0000", "127.0.0.1") {}
    std::string stream_text() const override { return "v/live/s"; }
    net::Traffic traffic() const override { return {}; }
    void kick(std::string_view) override {}
};

struct FakeSession final : MediaSession {
    struct Packet {
        std::vector<uint8_t> bytes;  // in the clear
        uint64_t index = 0;
    };
    bool connected() const override { return true; }
    void send_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first, std::span<const uint8_t> second,
                  uint64_t index) override {
        ++packets;
        counts.bytes_sent += header.size() + first.size() + second.size();
        CHECK(index_check.permits(rtp::get_u32(&header[8]), index, header, first, second));
        if (!keeps) return;
        Packet packet{{header.begin(), header.end()}, index};
        packet.bytes.insert(packet.bytes.end(), first.begin(), first.end());
        packet.bytes.insert(packet.bytes.end(), second.begin(), second.end());
        sent.push_back(std::move(packet));
    }
    void send_rtcp(std::span<const uint8_t> compound) override { rtcp.emplace_back(compound.begin(), compound.end()); }
    Room room() const override { return full ? Room::kFull : crowded ? Room::kSoon : Room::kNow; }
    void tick_sooner(int64_t now_ms) override { hurried_ms.push_back(now_ms); }
    void end(std::string_view why, base::CloseReason why_code) override {
        if (!ended.empty()) return;
        ended = why;
        reason = why_code;
    }
    const SessionCounters& counters() const override { return counts; }
    net::Session& as_session() override { return net_session; }

    net::SessionTable table;
    NetSession net_session{table};
    SessionCounters counts;
    srtp::IndexCheck index_check;
    std::vector<Packet> sent;
    std::vector<std::vector<uint8_t>> rtcp;
    std::vector<int64_t> hurried_ms;
    std::string ended;
    base::CloseReason reason = base::CloseReason::kUnknown;
    uint64_t packets = 0;
    bool keeps = true;
    bool full = false;
    bool crowded = false;
};

}  // namespace service::rtc::testing
