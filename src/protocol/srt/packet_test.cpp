#include "protocol/srt/packet.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/hex_testing.h"

namespace srt {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(SrtData, ReadsTheFieldsOfAHeader) {
    const Bytes packet = base::hex("7ffffffe ee000001 00000102 12345678 47");
    ASSERT_TRUE(is_packet(packet));
    EXPECT_FALSE(is_control(packet));
    EXPECT_EQ(destination_of(packet), 0x12345678u);
    const auto header = parse_data(packet);
    ASSERT_TRUE(header);
    EXPECT_EQ(*header, (DataHeader{.sequence = 0x7ffffffe,
                                   .boundary = Boundary::kSingle,
                                   .in_order = true,
                                   .key = KeyParity::kEven,
                                   .retransmitted = true,
                                   .message = 0x2000001,
                                   .timestamp_us = 0x102,
                                   .destination = 0x12345678}));
    EXPECT_EQ(body_of(packet).size(), 1u);
    EXPECT_FALSE(parse_control(packet));
}

TEST(SrtData, WhatIsWrittenIsRead) {
    for (uint32_t bits = 0; bits < 64; ++bits) {
        const DataHeader header{.sequence = bits * 0x2000003,
                                .boundary = static_cast<Boundary>(bits & 3),
                                .in_order = (bits & 4) != 0,
                                .key = static_cast<KeyParity>(bits >> 3 & 3),
                                .retransmitted = (bits & 32) != 0,
                                .message = kMaxMessage - bits,
                                .timestamp_us = 0xffffffff - bits,
                                .destination = bits};
        std::array<uint8_t, kHeaderSize> out;
        write_data_header(out, header);
        const auto read = parse_data(out);
        if (header.key == KeyParity::kBoth) {
            EXPECT_FALSE(read) << bits;
        } else {
            ASSERT_TRUE(read) << bits;
            EXPECT_EQ(*read, header) << bits;
        }
    }
}

TEST(SrtData, NumbersThatAreTooLargeDoNotReachOtherFields) {
    std::array<uint8_t, kHeaderSize> out;
    write_data_header(out, {.sequence = 0xffffffff, .boundary = Boundary::kMiddle, .message = 0xffffffff});
    const auto read = parse_data(out);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, (DataHeader{.sequence = kMaxSequence, .boundary = Boundary::kMiddle, .message = kMaxMessage}));
}

TEST(SrtPacket, LessThanAHeaderIsNoPacket) {
    for (size_t size = 0; size < kHeaderSize; ++size) {
        for (const uint8_t first : {0x00, 0x80}) {
            const Bytes packet(size, first);
            EXPECT_FALSE(is_packet(packet)) << size;
            EXPECT_FALSE(parse_data(packet)) << size;
            EXPECT_FALSE(parse_control(packet)) << size;
        }
    }
}

TEST(SrtControl, ReadsTheFieldsOfAHeader) {
    const Bytes packet = base::hex("ffff0003 00000000 00001000 00000007 00000000");
    const auto header = parse_control(packet);
    ASSERT_TRUE(header);
    EXPECT_EQ(*header,
              (ControlHeader{
                  .type = ControlType::kExtension, .subtype = 3, .info = 0, .timestamp_us = 0x1000, .destination = 7}));
    EXPECT_FALSE(parse_data(packet));
    std::array<uint8_t, kHeaderSize> out;
    write_control_header(out, *header);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), packet.begin()));
}

// With and without the padding of libsrt.
TEST(SrtControl, PacketsWithoutContents) {
    std::array<uint8_t, 20> out{};
    const Target target{.destination = 9, .timestamp_us = 5};
    const auto written = [&](size_t size) { return Bytes(out.begin(), out.begin() + static_cast<ptrdiff_t>(size)); };
    EXPECT_EQ(written(write_keepalive(out, target)), base::hex("80010000 00000000 00000005 00000009"));
    EXPECT_EQ(written(write_shutdown(out, target)), base::hex("80050000 00000000 00000005 00000009"));
    EXPECT_EQ(written(write_ack_ack(out, target, 0x33)), base::hex("80060000 00000033 00000005 00000009"));
    const auto header = parse_control(base::hex("80060000 00000033 00000005 00000009 00000000"));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->type, ControlType::kAckAck);
    EXPECT_EQ(header->info, 0x33u);
}

TEST(SrtControl, NothingIsWrittenWhereThereIsNoRoom) {
    Bytes out(15, 0xee);
    EXPECT_EQ(write_keepalive(out, {}), 0u);
    EXPECT_EQ(write_shutdown(out, {}), 0u);
    EXPECT_EQ(write_ack_ack(out, {}, 1), 0u);
    EXPECT_FALSE(NakWriter(out, {}).add({1, 1}));
    for (size_t size = 15; size < 24; ++size) {
        out.resize(size, 0xee);
        EXPECT_EQ(write_drop_request(out, {}, {}), 0u);
        EXPECT_EQ(write_ack(out, {}, {}), 0u);
    }
    EXPECT_EQ(out, Bytes(23, 0xee));
}

TEST(SrtAck, KindsByTheLengthOfTheContents) {
    const Bytes contents = base::hex("00000064 000186a0 0000c350 00002000 00000190 00000fa0 0007a120");
    const ControlHeader header{.type = ControlType::kAck, .info = 3};
    const Ack full{.kind = Ack::Kind::kFull,
                   .number = 3,
                   .last = 100,
                   .rtt_us = 100'000,
                   .rtt_var_us = 50'000,
                   .buffer_packets = 8192,
                   .rate_packets = 400,
                   .capacity_packets = 4000,
                   .rate_bytes = 500'000};
    EXPECT_EQ(parse_ack(header, contents), full);
    Ack old = full;
    old.rate_bytes = 0;
    EXPECT_EQ(parse_ack(header, std::span(contents).first(24)), old);
    const Ack small{.kind = Ack::Kind::kSmall,
                    .number = 3,
                    .last = 100,
                    .rtt_us = 100'000,
                    .rtt_var_us = 50'000,
                    .buffer_packets = 8192};
    EXPECT_EQ(parse_ack(header, std::span(contents).first(16)), small);
    const Ack light{.kind = Ack::Kind::kLight, .number = 3, .last = 100};
    EXPECT_EQ(parse_ack(header, std::span(contents).first(4)), light);
    // Lengths in between are those below; padding behind changes nothing.
    EXPECT_EQ(parse_ack(header, std::span(contents).first(27)), old);
    EXPECT_EQ(parse_ack(header, std::span(contents).first(23)), small);
    EXPECT_EQ(parse_ack(header, std::span(contents).first(15)), light);
    for (size_t size = 0; size < 4; ++size) EXPECT_FALSE(parse_ack(header, std::span(contents).first(size)));
    Bytes padded = contents;
    padded.resize(400);
    EXPECT_EQ(parse_ack(header, padded), full);
    EXPECT_FALSE(parse_ack(header, base::hex("80000000")));
}

TEST(SrtAck, WhatIsWrittenIsRead) {
    for (const auto kind : {Ack::Kind::kLight, Ack::Kind::kSmall, Ack::Kind::kFull}) {
        Ack ack{.kind = kind, .number = 77, .last = kMaxSequence};
        if (kind != Ack::Kind::kLight) ack.rtt_us = 1, ack.rtt_var_us = 2, ack.buffer_packets = 3;
        if (kind == Ack::Kind::kFull) ack.rate_packets = 4, ack.capacity_packets = 5, ack.rate_bytes = 6;
        std::array<uint8_t, 64> out;
        const size_t size = write_ack(out, {.destination = 8, .timestamp_us = 9}, ack);
        const auto packet = std::span(out).first(size);
        const auto header = parse_control(packet);
        ASSERT_TRUE(header);
        EXPECT_EQ(*header, (ControlHeader{.type = ControlType::kAck, .info = 77, .timestamp_us = 9, .destination = 8}));
        EXPECT_EQ(parse_ack(*header, body_of(packet)), ack);
    }
}

std::vector<SequenceRange> ranges_of(LossList list) {
    std::vector<SequenceRange> ranges;
    while (auto range = list.next()) ranges.push_back(*range);
    return ranges;
}

TEST(SrtNak, ListsOfAnyForm) {
    struct Case {
        const char* name;
        const char* contents;
        std::vector<SequenceRange> ranges;
        size_t malformed;
    };
    const std::vector<Case> cases = {
        {"nothing", "", {}, 0},
        {"one number", "00000005", {{5, 5}}, 0},
        {"a range", "80000005 00000009", {{5, 9}}, 0},
        {"both", "00000001 80000003 00000004 00000008", {{1, 1}, {3, 4}, {8, 8}}, 0},
        {"a range of one", "80000005 00000005", {{5, 5}}, 0},
        {"over the wrap", "fffffffe 00000001", {{0x7ffffffe, 1}}, 0},
        {"reversed", "80000009 00000005 00000007", {{7, 7}}, 1},
        {"everything", "80000000 7fffffff", {}, 1},
        {"half of the circle", "80000000 3fffffff", {{0, 0x3fffffff}}, 0},
        {"more than half of the circle", "80000000 40000000", {}, 1},
        {"half a range at the end", "00000001 80000005", {{1, 1}}, 1},
        {"an end that begins a range", "80000005 80000007 00000009", {{7, 9}}, 1},
        {"beginnings only", "80000005 80000005 80000005", {}, 3},
        {"bytes of a word at the end", "00000001 0000", {{1, 1}}, 1},
        {"half a range and bytes", "80000001 000000", {}, 2},
    };
    for (const auto& c : cases) {
        const Bytes contents = base::hex(c.contents);
        LossList list(contents);
        std::vector<SequenceRange> ranges;
        while (auto range = list.next()) ranges.push_back(*range);
        EXPECT_EQ(ranges, c.ranges) << c.name;
        EXPECT_EQ(list.malformed(), c.malformed) << c.name;
        EXPECT_FALSE(list.next()) << c.name;
        EXPECT_EQ(list.malformed(), c.malformed) << c.name << ": counted twice";
    }
}

TEST(SrtNak, WhatIsWrittenIsRead) {
    std::array<uint8_t, kHeaderSize + 20> out;
    NakWriter nak(out, {.destination = 4, .timestamp_us = 2});
    EXPECT_EQ(nak.size(), 0u) << "a NAK of nothing";
    EXPECT_TRUE(nak.add({7, 7}));
    EXPECT_TRUE(nak.add({kMaxSequence, 2}));
    EXPECT_TRUE(nak.add({10, 20}));
    EXPECT_FALSE(nak.add({30, 40}));
    ASSERT_EQ(nak.size(), out.size());
    const auto header = parse_control(out);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->type, ControlType::kNak);
    EXPECT_EQ(header->destination, 4u);
    EXPECT_EQ(ranges_of(LossList(body_of(out))), (std::vector<SequenceRange>{{7, 7}, {kMaxSequence, 2}, {10, 20}}));
}

TEST(SrtNak, ANumberFitsWhereARangeDoesNot) {
    std::array<uint8_t, kHeaderSize + 4> out;
    NakWriter nak(out, {});
    EXPECT_FALSE(nak.add({1, 2}));
    EXPECT_TRUE(nak.add({1, 1}));
    EXPECT_EQ(nak.size(), out.size());
}

TEST(SrtDropRequest, WhatIsWrittenIsRead) {
    std::array<uint8_t, 24> out;
    const DropRequest request{.message = 12, .range = {kMaxSequence - 3, 4}};
    ASSERT_EQ(write_drop_request(out, {.destination = 4, .timestamp_us = 2}, request), out.size());
    const auto header = parse_control(out);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->type, ControlType::kDropRequest);
    EXPECT_EQ(parse_drop_request(*header, body_of(out)), request);
}

TEST(SrtDropRequest, RefusesWhatIsNoRange) {
    const ControlHeader header{.type = ControlType::kDropRequest};
    for (const char* contents : {"", "00000001", "00000001 000000", "80000001 00000002", "00000001 80000002",
                                 "00000002 00000001", "00000000 7fffffff"}) {
        EXPECT_FALSE(parse_drop_request(header, base::hex(contents))) << contents;
    }
    EXPECT_TRUE(parse_drop_request(header, base::hex("00000002 00000002 00000000"))) << "padding is accepted";
}

}  // namespace
}  // namespace srt
