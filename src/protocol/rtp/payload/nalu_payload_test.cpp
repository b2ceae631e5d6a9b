#include <gtest/gtest.h>

#include "media/h264.h"
#include "protocol/rtp/payload/keyframe.h"
#include "protocol/rtp/payload/payload_testing.h"

namespace rtp {
namespace {

using media::Codec;
using testing::Bytes;
using testing::h264_pps;
using testing::h264_sps;
using testing::nalu;
using testing::take;
using testing::video_frame;

struct H264Payload : ::testing::Test {
    std::unique_ptr<Packetizer> packetizer = make(PacketizerOptions{.max_payload = 1000});
    std::unique_ptr<Depacketizer> depacketizer = make_depacketizer({.codec = Codec::kH264});

    static std::unique_ptr<Packetizer> make(const PacketizerOptions& options) {
        auto made = make_packetizer(Codec::kH264, options);
        auto config = media::make_avc_config(h264_sps(), h264_pps());
        EXPECT_TRUE(config && made->set_header(testing::header_frame(Codec::kH264, *config)));
        return made;
    }
    std::vector<testing::Payload> cut(const media::Frame& frame) {
        std::vector<testing::Payload> out;
        EXPECT_TRUE(testing::packetize(*packetizer, frame, out));
        return out;
    }
    static std::vector<Bytes> nalus_of(const media::Frame& frame) {
        std::vector<Bytes> out;
        media::NaluReader reader(frame.payload, 4);
        while (auto unit = reader.next()) out.emplace_back(unit->begin(), unit->end());
        return out;
    }
    // Passes a keyframe to the depacketizer, so that it has the parameter sets.
    void begin(uint32_t timestamp = 0) {
        EXPECT_EQ(take(*depacketizer, cut(video_frame(Codec::kH264, true, {nalu({0x65}, 30)})), timestamp).size(), 2u);
    }
};

TEST_F(H264Payload, ParameterSetsThatWereToldOtherwiseHoldUntilOthersCome) {
    const auto unit = [&](std::vector<Bytes> nalus, uint32_t timestamp) {
        std::vector<Unit> out;
        for (size_t i = 0; i < nalus.size(); ++i)
            depacketizer->push({nalus[i], timestamp, i + 1 == nalus.size(), false}, out);
        return out;
    };
    const std::vector<Bytes> useless = {Bytes{0x67}, Bytes{0x68}};
    depacketizer->know(useless);
    depacketizer->know(std::vector<Bytes>{h264_sps()});
    EXPECT_TRUE(unit({nalu({0x65}, 30)}, 0).empty());
    depacketizer->know(std::vector<Bytes>{h264_sps(), h264_pps()});
    auto units = unit({nalu({0x65}, 30)}, 3000);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_TRUE(units[0].frame.sequence_header);
    EXPECT_EQ(units[0].frame.payload, *media::make_avc_config(h264_sps(), h264_pps()));
    EXPECT_TRUE(units[1].frame.keyframe);
    EXPECT_EQ(unit({nalu({0x65}, 40)}, 6000).size(), 1u);
    Bytes other = h264_pps();
    other.back() ^= 0x40;
    units = unit({h264_sps(), other, nalu({0x65}, 40)}, 9000);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, *media::make_avc_config(h264_sps(), other));
}

TEST_F(H264Payload, ARecoveryPointIsAKeyframe) {
    depacketizer->know(std::vector<Bytes>{h264_sps(), h264_pps()});
    const Bytes sei{0x06, 0x06, 0x01, 0xc4, 0x80};
    std::string keyframes;
    for (uint32_t i = 0; i < 40; ++i) {
        std::vector<Unit> out;
        if (i % 15 == 0) depacketizer->push({sei, 3000 * i, false, false}, out);
        depacketizer->push({nalu({0x41}, 30), 3000 * i, true, false}, out);
        ASSERT_FALSE(out.empty()) << i;
        if (out.back().frame.keyframe) keyframes += std::to_string(i) + " ";
    }
    EXPECT_EQ(keyframes, "0 15 30 ");
}

TEST_F(H264Payload, AKeyframeBeginsWithItsParameterSets) {
    auto payloads = cut(video_frame(Codec::kH264, true, {nalu({0x65}, 990)}));
    ASSERT_EQ(payloads.size(), 2u);
    EXPECT_EQ(payloads[0].bytes[0], 0x78);  // STAP-A with the highest importance
    EXPECT_TRUE(payloads[0].keyframe);
    EXPECT_FALSE(payloads[0].marker);
    EXPECT_FALSE(payloads[1].keyframe);
    EXPECT_TRUE(payloads[1].marker);

    auto units = take(*depacketizer, payloads, 9000);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_TRUE(units[0].frame.sequence_header);
    EXPECT_EQ(units[0].frame.payload, *media::make_avc_config(h264_sps(), h264_pps()));
    EXPECT_TRUE(units[1].frame.keyframe);
    EXPECT_EQ(units[1].timestamp, 9000u);
    EXPECT_EQ(nalus_of(units[1].frame), std::vector<Bytes>{nalu({0x65}, 990)});
}

TEST_F(H264Payload, AFrameThatBringsItsOwnParameterSetsGetsNoOthers) {
    auto sps = h264_sps();
    auto payloads = cut(video_frame(Codec::kH264, true, {sps, h264_pps(), nalu({0x65}, 990)}));
    ASSERT_EQ(payloads.size(), 2u);
    EXPECT_EQ(payloads[0].bytes.size(), 1 + 2 + sps.size() + 2 + h264_pps().size());
    // A small slice shares their packet.
    EXPECT_EQ(cut(video_frame(Codec::kH264, true, {sps, h264_pps(), nalu({0x65}, 200)})).size(), 1u);
}

TEST_F(H264Payload, FragmentsHaveOneSize) {
    auto big = nalu({0x41}, 4003);
    auto payloads = cut(video_frame(Codec::kH264, false, {big}));
    ASSERT_EQ(payloads.size(), 5u);
    for (size_t i = 0; i + 1 < payloads.size(); ++i) EXPECT_EQ(payloads[i].bytes.size(), payloads[0].bytes.size()) << i;
    EXPECT_LE(payloads[0].bytes.size(), 1000u);
    EXPECT_LE(payloads[4].bytes.size(), payloads[0].bytes.size());
    EXPECT_EQ(payloads[0].bytes[0], 0x5c);  // FU-A with the importance of the unit
    EXPECT_EQ(payloads[0].bytes[1], 0x81);
    EXPECT_EQ(payloads[1].bytes[1], 0x01);
    EXPECT_EQ(payloads[4].bytes[1], 0x41);

    begin();
    auto units = take(*depacketizer, payloads, 3000);
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(nalus_of(units[0].frame), std::vector<Bytes>{big});
    EXPECT_FALSE(units[0].frame.keyframe);
}

TEST_F(H264Payload, EverySizeAroundALimitComesBack) {
    begin();
    uint32_t timestamp = 0;
    for (size_t size : {2u, 3u, 998u, 999u, 1000u, 1001u, 1002u, 1003u, 1997u, 1998u, 1999u, 2000u, 5000u}) {
        auto unit = nalu({0x41}, size);
        auto payloads = cut(video_frame(Codec::kH264, false, {unit}));
        for (const testing::Payload& p : payloads) EXPECT_LE(p.bytes.size(), 1000u) << size;
        auto units = take(*depacketizer, payloads, timestamp += 3000);
        ASSERT_EQ(units.size(), 1u) << size;
        EXPECT_EQ(nalus_of(units[0].frame), std::vector<Bytes>{unit}) << size;
    }
}

TEST_F(H264Payload, SeiIsKeptOrNotAndDelimitersNever) {
    auto sei = nalu({0x06}, 20), slice = nalu({0x41}, 50);
    auto frame = video_frame(Codec::kH264, false, {{0x09, 0xf0}, sei, slice});
    auto payloads = cut(frame);
    ASSERT_EQ(payloads.size(), 1u);
    begin();
    EXPECT_EQ(nalus_of(take(*depacketizer, payloads, 3000).at(0).frame), (std::vector<Bytes>{sei, slice}));
    packetizer = make({.keep_sei = false});
    payloads = cut(frame);
    ASSERT_EQ(payloads.size(), 1u);
    EXPECT_EQ(payloads[0].bytes, base::Slice::copy(slice));
}

TEST_F(H264Payload, SeiSharesThePacketOfTheSliceBehindIt) {
    auto sei = nalu({0x06}, 20), small = nalu({0x41}, 50), large = nalu({0x41}, 990);
    std::vector<Bytes> units{sei, sei, small, small, sei, large, sei};
    auto payloads = cut(video_frame(Codec::kH264, false, units));
    ASSERT_EQ(payloads.size(), 5u);
    EXPECT_EQ(payloads[0].bytes.size(), 1 + 22 + 22 + 52u);
    EXPECT_EQ(payloads[0].bytes[0], 0x58);  // STAP-A with the importance of the slice
    EXPECT_EQ(payloads[1].bytes.size(), 50u);
    EXPECT_EQ(payloads[2].bytes.size(), 20u);  // no room beside the large one
    EXPECT_EQ(payloads[3].bytes.size(), 990u);
    EXPECT_EQ(payloads[4].bytes.size(), 20u);
    begin();
    EXPECT_EQ(nalus_of(take(*depacketizer, payloads, 3000).at(0).frame), units);
}

TEST_F(H264Payload, MergedUnitsShareAPacket) {
    packetizer = make({.max_payload = 1000, .merge_nalus = true});
    std::vector<Bytes> slices{nalu({0x41}, 300), nalu({0x41}, 300), nalu({0x41}, 300), nalu({0x41}, 300)};
    auto payloads = cut(video_frame(Codec::kH264, false, slices));
    ASSERT_EQ(payloads.size(), 2u);
    EXPECT_EQ(payloads[0].bytes.size(), 1 + 3 * 302u);
    EXPECT_EQ(payloads[1].bytes.size(), 300u);
    begin();
    auto units = take(*depacketizer, payloads, 3000);
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(nalus_of(units[0].frame), slices);
}

TEST_F(H264Payload, WhatCannotBeCutIsAnError) {
    std::vector<testing::Payload> out;
    EXPECT_FALSE(testing::packetize(*make_packetizer(Codec::kH264, {}),
                                    video_frame(Codec::kH264, false, {nalu({0x41}, 9)}), out));
    auto frame = video_frame(Codec::kH264, false, {nalu({0x41}, 50)});
    frame.payload = frame.payload.sub(0, 40);
    EXPECT_FALSE(testing::packetize(*packetizer, frame, out));
    EXPECT_TRUE(out.empty());
    EXPECT_FALSE(packetizer->set_header(testing::header_frame(Codec::kH264, base::Slice::copy("no"))));
}

TEST_F(H264Payload, AHoleDropsTheFrameThatItHit) {
    begin();
    auto payloads = cut(video_frame(Codec::kH264, false, {nalu({0x41}, 4000)}));
    std::vector<Unit> out;
    for (size_t i = 0; i < payloads.size(); ++i)
        if (i != 2) depacketizer->push({payloads[i].bytes, 3000, payloads[i].marker, i == 3}, out);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(depacketizer->counters().damaged, 1u);
    // The next frame is complete.
    EXPECT_EQ(take(*depacketizer, payloads, 6000).size(), 1u);
}

TEST_F(H264Payload, ALostMarkerDropsTheFrameAndNotTheNext) {
    begin();
    auto payloads = cut(video_frame(Codec::kH264, false, {nalu({0x41}, 1500)}));
    std::vector<Unit> out;
    depacketizer->push({payloads[0].bytes, 3000, false, false}, out);
    auto next = take(*depacketizer, payloads, 6000, true);
    ASSERT_EQ(next.size(), 1u);
    EXPECT_EQ(next[0].timestamp, 6000u);
    EXPECT_EQ(depacketizer->counters().damaged, 1u);
}

TEST_F(H264Payload, AFrameWhoseFrontWasLostIsNoFrame) {
    begin();
    Bytes second{0x41, 0x40, 1, 2, 3};  // first_mb_in_slice is not 0
    auto payloads = cut(video_frame(Codec::kH264, false, {second}));
    EXPECT_TRUE(take(*depacketizer, payloads, 3000, true).empty());
    EXPECT_EQ(take(*depacketizer, payloads, 6000, false).size(), 1u);
}

TEST_F(H264Payload, WithoutMarkersTheTimestampTells) {
    begin();
    auto payloads = cut(video_frame(Codec::kH264, false, {nalu({0x41}, 100)}));
    payloads[0].marker = false;
    EXPECT_TRUE(take(*depacketizer, payloads, 3000).empty());
    auto units = take(*depacketizer, payloads, 6000);
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(units[0].timestamp, 3000u);
}

TEST_F(H264Payload, ProbesAreNoPartOfAFrame) {
    begin();
    auto payloads = cut(video_frame(Codec::kH264, false, {nalu({0x41}, 1500)}));
    std::vector<Unit> out;
    depacketizer->push({payloads[0].bytes, 3000, false, false}, out);
    depacketizer->push({{}, 3000, false, false}, out);
    depacketizer->push({payloads[1].bytes, 3000, true, false}, out);
    EXPECT_EQ(out.size(), 1u);
}

TEST_F(H264Payload, NothingComesBeforeTheParameterSets) {
    auto payloads = cut(video_frame(Codec::kH264, false, {nalu({0x41}, 100)}));
    EXPECT_TRUE(take(*depacketizer, payloads, 0).empty());
    EXPECT_EQ(depacketizer->counters().undecodable, 1u);
}

TEST_F(H264Payload, OtherParameterSetsMakeAnotherSequenceHeader) {
    begin();
    auto again = take(*depacketizer, cut(video_frame(Codec::kH264, true, {nalu({0x65}, 30)})), 3000);
    EXPECT_EQ(again.size(), 1u);  // the parameter sets are the same
    auto high = testing::hex("67640020acd940c029b011000003000100000300320f183196");
    auto other = take(*depacketizer, cut(video_frame(Codec::kH264, true, {high, h264_pps(), nalu({0x65}, 30)})), 6000);
    ASSERT_EQ(other.size(), 2u);
    EXPECT_TRUE(other[0].frame.sequence_header);
    EXPECT_EQ(other[0].frame.payload[1], 0x64);
}

TEST_F(H264Payload, FurtherParameterSetsStayInTheFrame) {
    Bytes second{0x68, 0x55, 0x22};
    auto units = take(*depacketizer,
                      cut(video_frame(Codec::kH264, true, {h264_sps(), h264_pps(), second, nalu({0x65}, 30)})), 0);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(nalus_of(units[1].frame), (std::vector<Bytes>{second, nalu({0x65}, 30)}));
}

TEST_F(H264Payload, FragmentedParameterSetsAreRead) {
    packetizer = make({.max_payload = 64});
    Bytes pps(200, 0x55);
    pps[0] = 0x68;
    auto payloads = cut(video_frame(Codec::kH264, true, {h264_sps(), pps, nalu({0x65}, 300)}));
    auto units = take(*depacketizer, payloads, 0);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, *media::make_avc_config(h264_sps(), pps));
    EXPECT_EQ(nalus_of(units[1].frame), std::vector<Bytes>{nalu({0x65}, 300)});
}

// What cameras send that put the bytes of their encoder, which have start codes, into one NAL unit.
TEST_F(H264Payload, UnitsWithStartCodesAreSeveral) {
    const Bytes delimiter{0x09, 0x10}, sei{0x06, 0x05, 0x01, 0x00, 0x80};
    const Bytes idr = nalu({0x65}, 300), second = nalu({0x65, 0x40}, 200);
    const auto joined = [](const Bytes& code, const std::vector<Bytes>& nalus) {
        Bytes all;
        for (const Bytes& one : nalus) {
            if (!all.empty()) all.insert(all.end(), code.begin(), code.end());
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    };
    for (const Bytes& code : {Bytes{0, 0, 1}, Bytes{0, 0, 0, 1}, Bytes{0, 0, 0, 0, 1}})
        for (const std::vector<Bytes>& before :
             {std::vector<Bytes>{h264_sps(), h264_pps()}, {delimiter, h264_sps(), h264_pps(), sei}})
            for (size_t most : {64u, 4'000u}) {
                depacketizer = make_depacketizer({.codec = Codec::kH264});
                packetizer = make({.max_payload = most});
                std::vector<Bytes> all = before;
                all.insert(all.end(), {idr, second});
                Bytes whole = joined(code, all);
                // The frame has one unit, so that the packetizer leaves it as it is.
                std::vector<Unit> units;
                if (whole.size() <= most) {
                    units = push(*depacketizer, whole, 0);
                } else {
                    whole[0] = before[0][0];
                    for (size_t at = 1; at < whole.size(); at += most) {
                        const size_t end = std::min(whole.size(), at + most);
                        Bytes part{static_cast<uint8_t>((whole[0] & 0xe0) | 28),
                                   static_cast<uint8_t>((at == 1 ? 0x80 : 0) | (end == whole.size() ? 0x40 : 0) |
                                                        (whole[0] & 0x1f))};
                        part.insert(part.end(), whole.begin() + static_cast<ptrdiff_t>(at),
                                    whole.begin() + static_cast<ptrdiff_t>(end));
                        depacketizer->push({part, 0, end == whole.size(), false}, units);
                    }
                }
                ASSERT_EQ(units.size(), 2u);
                EXPECT_EQ(units[0].frame.payload, *media::make_avc_config(h264_sps(), h264_pps()));
                EXPECT_TRUE(units[1].frame.keyframe);
                std::vector<Bytes> want{idr, second};
                if (before.size() > 2) want.insert(want.begin(), sei);
                EXPECT_EQ(nalus_of(units[1].frame), want);
                // Once they came, other frames of the sender are searched too.
                const Bytes inter = nalu({0x41}, 60), more = nalu({0x41, 0x20}, 50);
                units = push(*depacketizer, joined(code, {inter, more}), 3000);
                ASSERT_EQ(units.size(), 1u);
                EXPECT_EQ(nalus_of(units[0].frame), (std::vector<Bytes>{inter, more}));
            }
    depacketizer = make_depacketizer({.codec = Codec::kH264});
    begin();
    Bytes behind_code{0, 0, 0, 1};
    behind_code.insert(behind_code.end(), idr.begin(), idr.end());
    const auto units = push(*depacketizer, behind_code, 90'000);
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(nalus_of(units[0].frame), std::vector<Bytes>{idr});
    EXPECT_EQ(depacketizer->counters().malformed, 0u);
}

// It is left out before units and before fragments.
TEST_F(H264Payload, AStartCodeBeforeAPayloadIsLeftOut) {
    packetizer = make({.max_payload = 100});
    std::vector<Unit> units;
    for (const testing::Payload& one : cut(video_frame(Codec::kH264, true, {nalu({0x65}, 250)}))) {
        Bytes bytes{0, 0, 0, 1};
        bytes.insert(bytes.end(), one.bytes.begin(), one.bytes.end());
        depacketizer->push({bytes, 0, one.marker, false}, units);
    }
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(nalus_of(units[1].frame), std::vector<Bytes>{nalu({0x65}, 250)});
    EXPECT_TRUE(push(*depacketizer, {0, 0, 1}, 3000).empty());
    EXPECT_EQ(depacketizer->counters().malformed, 1u);
}

TEST_F(H264Payload, AFragmentWithoutItsEndEndsWithItsFrame) {
    packetizer = make({.max_payload = 100});
    begin();
    const Bytes slice = nalu({0x41}, 250), other = nalu({0x41, 0x20}, 250);
    auto payloads = cut(video_frame(Codec::kH264, false, {slice, other}));
    std::vector<Bytes> parts;
    for (const testing::Payload& one : payloads) parts.emplace_back(one.bytes.begin(), one.bytes.end());
    for (Bytes& part : parts) part[1] &= static_cast<uint8_t>(~0x40);
    const auto send = [&](uint32_t timestamp, bool marker, size_t lost = SIZE_MAX) {
        std::vector<Unit> out;
        bool hole = false;
        for (size_t i = 0; i < parts.size(); ++i) {
            if (i != lost) depacketizer->push({parts[i], timestamp, marker && i + 1 == parts.size(), hole}, out);
            hole = i == lost;
        }
        return out;
    };
    auto units = send(3000, true);
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(nalus_of(units[0].frame), (std::vector<Bytes>{slice, other}));
    EXPECT_TRUE(send(6000, false).empty()) << "the next timestamp ends it";
    units = send(9000, true);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(nalus_of(units[0].frame), (std::vector<Bytes>{slice, other}));
    const uint64_t damaged = depacketizer->counters().damaged;
    EXPECT_TRUE(send(12'000, true, 1).empty()) << "a part was lost";
    EXPECT_EQ(depacketizer->counters().damaged, damaged + 1);
    // The last packet of a frame was lost, which the next frame's first one shows.
    parts.pop_back();
    EXPECT_TRUE(send(15'000, false).empty());
    EXPECT_TRUE(push(*depacketizer, nalu({0x41}, 20), 18'000, false, true).empty());
    EXPECT_EQ(depacketizer->counters().damaged, damaged + 2);
}

TEST_F(H264Payload, MalformedPayloadsAreDroppedAndCounted) {
    const char* const cases[] = {
        "7c",            // FU-A without an FU header
        "7c85",          // without a body
        "7c0588",        // a middle without a start
        "78",            // an empty STAP-A
        "780005 6588",   // truncated
        "780002 7c85",   // a fragment inside
        "79 0000 0002",  // STAP-B
        "7f 00 00",      // reserved
    };
    uint64_t count = 0;
    begin();
    for (const char* text : cases) {
        std::vector<Unit> out;
        depacketizer->push({testing::hex(text), static_cast<uint32_t>(90000 + count * 10), true, false}, out);
        EXPECT_TRUE(out.empty()) << text;
        EXPECT_EQ(depacketizer->counters().malformed, ++count) << text;
    }
    EXPECT_EQ(take(*depacketizer, cut(video_frame(Codec::kH264, false, {nalu({0x41}, 20)})), 1).size(), 1u);
}

TEST_F(H264Payload, AFrameInProgressIsReportedAndDropped) {
    begin();
    depacketizer->drop();
    EXPECT_EQ(depacketizer->memory(), 0u);
    Bytes part(1000, 0x55);
    part[0] = 0x7c, part[1] = 0x85;  // FU-A of an IDR slice: its start
    push(*depacketizer, part, 3000, false);
    part[1] = 0x05;
    for (int i = 0; i < 100; ++i) push(*depacketizer, part, 3000, false);
    EXPECT_GE(depacketizer->memory(), 100'000u);
    depacketizer->drop();
    EXPECT_EQ(depacketizer->memory(), 0u);
    for (int i = 0; i < 100; ++i) push(*depacketizer, part, 3000, false);
    EXPECT_EQ(depacketizer->memory(), 0u);  // the rest of it is dropped too
    EXPECT_TRUE(push(*depacketizer, part, 3000, true).empty());
    EXPECT_EQ(depacketizer->counters().damaged, 1u);
    EXPECT_EQ(push(*depacketizer, nalu({0x65}, 30), 6000).size(), 1u);
}

// A fragmented parameter set could have as many bytes as a frame, sixteen times of each kind.
TEST_F(H264Payload, ParameterSetsAreBounded) {
    begin();
    for (int set = 0; set < 16; ++set) {
        Bytes part(60'000, 0x55);
        for (uint8_t flags : {0x80, 0, 0x40}) {
            part[0] = 0x7c, part[1] = static_cast<uint8_t>(flags | 7);
            push(*depacketizer, part, 3000, false);
        }
    }
    EXPECT_LE(depacketizer->memory(), 512u * 1024);
    EXPECT_TRUE(push(*depacketizer, nalu({0x65}, 30), 3000).empty());
    EXPECT_EQ(depacketizer->counters().damaged, 1u);
}

TEST_F(H264Payload, AFrameWithoutEndIsBounded) {
    begin();
    Bytes middle(1000, 0x11);
    middle[0] = 0x5c;
    middle[1] = 0x81;
    std::vector<Unit> out;
    for (size_t sent = 0; sent < Depacketizer::kMaxUnit + 4000; sent += 998) {
        depacketizer->push({middle, 3000, false, false}, out);
        middle[1] = 0x01;
    }
    EXPECT_EQ(depacketizer->counters().malformed, 1u);
    depacketizer->push({middle, 3000, true, false}, out);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(depacketizer->counters().damaged, 1u);
}

TEST(H264Keyframe, IsToldByPayload) {
    struct Case {
        const char* name;
        const char* payload;
        bool expected;
    };
    const Case cases[] = {
        {"nothing", "", false},
        {"a slice", "4188", false},
        {"an IDR slice", "6588", true},
        {"an SPS", "6742c01e", true},
        {"STAP-A with an SPS", "78 0002 6742 0002 68c8", true},
        {"STAP-A of slices", "78 0002 4188 0002 4188", false},
        {"STAP-A cut short", "78 0009 67", false},
        {"the first fragment of an IDR slice", "7c85 88", true},
        {"a later one", "7c05 88", false},
        {"a fragment of another slice", "5c81 88", false},
        {"half a header", "7c", false},
    };
    for (const Case& c : cases) EXPECT_EQ(is_keyframe(Codec::kH264, testing::hex(c.payload)), c.expected) << c.name;
}

}  // namespace
}  // namespace rtp
