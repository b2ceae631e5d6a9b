#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "load/chunk_skimmer.h"
#include "load/packet_skimmer.h"
#include "load/tag_skimmer.h"
#include "protocol/flv/tag.h"
#include "protocol/rtmp/chunk_writer.h"
#include "protocol/ts/segment_muxer.h"

namespace load {
namespace {

using Bytes = std::vector<uint8_t>;

class FirstByteRecorder final : public ControlSink {
  public:
    void on_media(const MediaMessage& m) override {
        log += fmt::format("{}@{}+{}:{:02x} ", m.type, m.timestamp, m.size, m.head.empty() ? 0 : m.head[0]);
    }
    base::Result<void> on_control(uint8_t type, uint32_t timestamp, std::span<const uint8_t> body) override {
        log += fmt::format("c{}@{}+{} ", type, timestamp, body.size());
        return {};
    }
    std::string log;
};

Bytes flv(std::initializer_list<std::pair<uint8_t, uint32_t>> tags) {
    Bytes out(flv::kFileHeaderSize);
    flv::put_file_header(out.data(), true, true);
    uint32_t timestamp = 0;
    for (auto [type, size] : tags) {
        size_t at = out.size();
        out.resize(at + flv::kTagHeaderSize + size + flv::kPreviousTagSize, 0x27);
        flv::put_tag_header(&out[at], static_cast<flv::TagType>(type), size, timestamp);
        flv::put_previous_tag_size(&out[out.size() - flv::kPreviousTagSize], size);
        timestamp += 0x800000;
    }
    return out;
}

// The same however the bytes are cut.
template <class Skimmer>
std::string skim(const Bytes& bytes, size_t step) {
    Skimmer skimmer;
    FirstByteRecorder recorder;
    for (size_t at = 0; at < bytes.size(); at += step) {
        auto part = std::span(bytes).subspan(at, std::min(step, bytes.size() - at));
        if (auto fed = skimmer.feed(part, recorder); !fed) return recorder.log + "error: " + fed.error().text();
    }
    return recorder.log;
}

TEST(TagSkimmer, FollowsTagsHoweverTheyAreCut) {
    Bytes bytes = flv({{18, 5}, {9, 40'000}, {8, 1}, {9, 0}, {8, 31}, {9, 33}});
    for (size_t step : {1, 2, 7, 100, 4096, 1'000'000}) {
        EXPECT_EQ(skim<TagSkimmer>(bytes, step),
                  "18@0+5:27 9@8388608+40000:27 8@16777216+1:27 9@25165824+0:00 8@33554432+31:27 9@41943040+33:27 ");
    }
}

TEST(TagSkimmer, RefusesWhatIsNoFlv) {
    EXPECT_EQ(skim<TagSkimmer>(Bytes(20, 'x'), 3), "error: the body is no FLV");
    Bytes bytes = flv({{9, 4}, {9, 4}});
    bytes[flv::kFileHeaderSize] = 7;
    EXPECT_EQ(skim<TagSkimmer>(bytes, 100), "error: an FLV tag of type 7");
    bytes = flv({{9, 4}});
    bytes.back() ^= 1;
    EXPECT_EQ(skim<TagSkimmer>(bytes, 100), "9@0+4:27 error: a previous-tag-size of 14 behind a tag of 15 bytes");
}

struct Packets final : ts::PacketSink {
    Bytes bytes;
    void write(std::span<const uint8_t> packets) override { bytes.insert(bytes.end(), packets.begin(), packets.end()); }
};

TEST(PacketSkimmer, FollowsPacketsHoweverTheyAreCut) {
    ts::SegmentMuxer muxer({.audio_pes = media::Time(0), .delay = media::Time(0)});
    Packets packets;
    media::Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = media::Codec::kMp3;
    for (int64_t dts : {0, 26, 52}) {
        frame.dts = media::from_ms(dts);
        frame.payload = base::Slice::copy(Bytes(dts == 26 ? 400 : 100, 0xff));
        ASSERT_TRUE(muxer.write(frame, packets));
    }
    for (size_t step : {1, 2, 7, 100, 188, 4096}) {
        EXPECT_EQ(skim<PacketSkimmer>(packets.bytes, step), "8@0+108:00 8@26+408:00 8@52+108:00 ");
    }
    packets.bytes[376] = 0x48;
    EXPECT_EQ(skim<PacketSkimmer>(packets.bytes, 100), "error: a transport packet that begins with 0x48");
}

Bytes set_chunk_size(uint32_t size) {
    Bytes out, body(4);
    base::put_u32(body.data(), size);
    rtmp::append_message(out, 2, 1, 0, 0, body, 128);
    return out;
}

TEST(ChunkSkimmer, FollowsMessagesHoweverTheyAreCut) {
    Bytes bytes;
    rtmp::append_message(bytes, 3, 20, 0, 0, Bytes(300, 1), 128);
    rtmp::append_message(bytes, 6, 9, 1, 40, Bytes(1000, 0x17), 128);
    Bytes change = set_chunk_size(4096);
    bytes.insert(bytes.end(), change.begin(), change.end());
    rtmp::append_message(bytes, 6, 9, 1, 0x01000000, Bytes(10'000, 0x27), 4096);
    rtmp::append_message(bytes, 400, 8, 1, 80, Bytes(0), 4096);
    rtmp::append_message(bytes, 64, 18, 1, 80, Bytes(3), 4096);
    for (size_t step : {1, 2, 3, 17, 128, 5000, 1'000'000}) {
        EXPECT_EQ(skim<ChunkSkimmer>(bytes, step), "c20@0+300 9@40+1000:17 9@16777216+10000:27 8@80+0:00 c18@80+3 ");
    }
}

TEST(ChunkSkimmer, AddsDeltas) {
    Bytes bytes = {0x06, 0,    0, 10, 0,    0, 2, 9, 1,    0, 0, 0, 0x17, 1,  // type 0 at 10
                   0x46, 0,    0, 40, 0,    0, 3, 9, 0x27, 1, 2,              // type 1, delta 40
                   0x86, 0,    0, 20, 0x27, 1, 2,                             // type 2, delta 20
                   0xc6, 0x27, 1, 2};                                         // type 3, the same again
    EXPECT_EQ(skim<ChunkSkimmer>(bytes, 1), "9@10+2:17 9@50+3:27 9@70+3:27 9@90+3:27 ");
}

TEST(ChunkSkimmer, AcceptsATimestampThatIsNotRepeated) {
    Bytes bytes = {0x06, 0xff, 0xff, 0xff, 0, 0, 136, 9, 1, 0, 0, 0, 0x01, 0, 0, 0};
    bytes.insert(bytes.end(), 128, 0x27);
    bytes.push_back(0xc6);
    bytes.insert(bytes.end(), 8, 0x28);
    for (size_t step : {1, 3, 16, 1000}) EXPECT_EQ(skim<ChunkSkimmer>(bytes, step), "9@16777216+136:27 ");
}

TEST(ChunkSkimmer, RefusesWhatIsNoChunkStream) {
    EXPECT_EQ(skim<ChunkSkimmer>({0xc6, 1, 2, 3}, 100), "error: chunk stream 6 begins without a full header");
    EXPECT_EQ(skim<ChunkSkimmer>({0x06, 0, 0, 0, 0, 0, 9, 99, 0, 0, 0, 0}, 100), "error: a message of type 99");
    EXPECT_EQ(skim<ChunkSkimmer>(set_chunk_size(0), 100), "error: a chunk size of 0");
    EXPECT_EQ(skim<ChunkSkimmer>({0x06, 0, 0, 0, 0xff, 0xff, 0xff, 20, 0, 0, 0, 0}, 100),
              "error: a message of type 20 and 16777215 bytes");
}

}  // namespace
}  // namespace load
