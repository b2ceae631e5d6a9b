#include "service/caster/cell_input.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/rtp/packet.h"

namespace service::caster {
namespace {

using Bytes = std::vector<uint8_t>;

// A packet of a transport stream with that number in it.
Bytes cell_of(uint8_t number) {
    Bytes bytes(188, number);
    bytes[0] = 0x47;
    return bytes;
}

Bytes in_rtp(uint16_t sequence, const Bytes& payload, uint8_t type = 33, uint32_t ssrc = 5) {
    Bytes bytes(rtp::kFixedHeaderSize);
    rtp::Header header;
    header.payload_type = type;
    header.sequence = sequence;
    header.ssrc = ssrc;
    rtp::write_header(bytes.data(), header);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

// "1 2 | 4": the numbers of the packets, and the gaps.
struct CellText final : CellUser {
    std::string text;
    void on_cells(std::span<const uint8_t> bytes, int64_t) override {
        text += std::to_string(bytes.size() > 1 ? bytes[1] : 0) + " ";
    }
    void on_gap() override { text += "| "; }
};

TEST(CellInput, WhatBeginsAStream) {
    struct {
        const char* name;
        Bytes datagram;
        bool begins;
    } cases[] = {
        {"a packet", cell_of(1), true},
        {"in RTP", in_rtp(1, cell_of(1)), true},
        {"in RTP of a dynamic type", in_rtp(1, cell_of(1), 96), true},
        {"in RTP of another type", in_rtp(1, cell_of(1), 0), false},
        {"other bytes", Bytes(188, 1), false},
        {"RTP of other bytes", in_rtp(1, Bytes(188, 1)), false},
        {"a part of a packet", Bytes(100, 0x47), false},
        {"no second packet",
         [] {
             Bytes two = cell_of(1);
             two.resize(376);
             return two;
         }(),
         false},
        {"nothing", {}, false},
    };
    for (const auto& c : cases) EXPECT_EQ(CellInput::begins_stream(c.datagram), c.begins) << c.name;
}

TEST(CellInput, PlainDatagramsAreTakenAsTheyCome) {
    CellInput input;
    CellText user;
    input.push(Bytes(188, 9), 0, user);  // no beginning
    input.push(cell_of(1), 0, user);
    input.push(Bytes(50, 2), 0, user);
    input.push({}, 0, user);
    EXPECT_EQ(user.text, "1 2 ");
    EXPECT_FALSE(input.uses_rtp());
}

TEST(CellInput, RtpIsPutInOrder) {
    CellInput input;
    CellText user;
    input.push(in_rtp(65'534, cell_of(1)), 0, user);
    input.push(in_rtp(0, cell_of(3)), 1'000, user);
    input.push(in_rtp(65'535, cell_of(2)), 2'000, user);
    input.push(in_rtp(65'535, cell_of(2)), 2'000, user);
    EXPECT_EQ(user.text, "1 2 3 ");
    input.push(in_rtp(2, cell_of(5)), 3'000, user);
    input.on_tick(4'000, user);
    EXPECT_EQ(user.text, "1 2 3 ");
    input.on_tick(1'000'000, user);
    EXPECT_EQ(user.text, "1 2 3 | 5 ") << "given up";
    input.push(Bytes(20, 0xff), 1'000'000, user);
    EXPECT_EQ(input.bad_packets(), 1u);
    input.push(in_rtp(9'000, cell_of(6), 33, 8), 1'000'000, user);
    EXPECT_EQ(user.text, "1 2 3 | 5 | 6 ") << "another source";
}

}  // namespace
}  // namespace service::caster
