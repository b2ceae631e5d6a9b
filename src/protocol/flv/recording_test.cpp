#include "protocol/flv/recording.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "protocol/amf/amf0.h"
#include "protocol/flv/metadata.h"
#include "protocol/flv/reader.h"
#include "protocol/flv/tag.h"
#include "protocol/flv/writer.h"

namespace flv {
namespace {

using amf::Value;
using media::Codec;
using media::Frame;
using media::Kind;

constexpr std::string_view kServer = "test/1";

Frame metadata_frame(const Value& value) {
    std::vector<uint8_t> out;
    base::ByteWriter writer(out);
    amf::encode_amf0("onMetaData", writer);
    amf::encode_amf0(value, writer);
    Frame frame;
    frame.payload = base::Slice::copy(out);
    return frame;
}

Value head_value(std::span<const uint8_t> head) {
    Reader reader;
    reader.feed(head);
    auto tag = reader.next();
    EXPECT_TRUE(tag && *tag);
    base::ByteReader body((*tag)->body);
    auto values = amf::decode_amf0_all(body, {.values = 300'000});
    EXPECT_TRUE(values && values->size() == 2);
    return (*values)[1];
}

// A tag as the writer of frames produces it.
std::vector<uint8_t> tag_of(Kind kind, uint32_t time, bool keyframe, size_t size, bool header = false) {
    Frame frame;
    frame.kind = kind;
    frame.codec = kind == Kind::kVideo ? Codec::kH264 : Codec::kAac;
    frame.keyframe = keyframe;
    frame.sequence_header = header;
    uint8_t body[kMaxBodyHeader];
    size_t n = put_body_header(frame, body);
    std::vector<uint8_t> out(kTagHeaderSize + n + size + kPreviousTagSize, 0x55);
    auto body_size = static_cast<uint32_t>(n + size);
    uint8_t* p = put_tag_header(out.data(), tag_type(kind), body_size, time);
    std::copy_n(body, n, p);
    put_previous_tag_size(p + body_size, body_size);
    return out;
}

void append(std::vector<uint8_t>& out, const std::vector<uint8_t>& more) {
    out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

TEST(KeyframeIndex, KeepsAllWhileTheyFit) {
    KeyframeIndex index(4);
    for (uint32_t i = 0; i < 4; ++i) index.add(i * 1000, 100 + i);
    ASSERT_EQ(index.entries().size(), 4u);
    EXPECT_EQ(index.entries()[3].time_ms, 3000);
    EXPECT_EQ(index.entries()[3].position, 103u);
}

TEST(KeyframeIndex, ThinsEvenlyWhenFull) {
    KeyframeIndex index(4);
    for (uint32_t i = 0; i < 100; ++i) index.add(i, i);
    ASSERT_GE(index.entries().size(), 2u);
    ASSERT_LE(index.entries().size(), 4u);
    for (size_t i = 1; i < index.entries().size(); ++i)
        EXPECT_EQ(index.entries()[i].time_ms - index.entries()[i - 1].time_ms, 32);
    EXPECT_EQ(index.entries()[0].time_ms, 0);
}

TEST(KeyframeIndex, WithoutRoomHasNothing) {
    KeyframeIndex index(0);
    index.add(1, 1);
    EXPECT_TRUE(index.entries().empty());
}

TEST(RecordingIndex, CountsTheLastFrameAsLongAsTheOneBefore) {
    RecordingIndex index(10);
    EXPECT_EQ(index.duration_ms(), 0);
    index.add(Kind::kVideo, 0, true, 500);
    EXPECT_EQ(index.duration_ms(), 0);
    index.add(Kind::kVideo, 40, false, 600);
    EXPECT_EQ(index.duration_ms(), 80);
    index.add(Kind::kAudio, 90, false, 700);
    EXPECT_EQ(index.duration_ms(), 90);
    EXPECT_EQ(index.last_ms(), 90);
}

// The 32 bits of a tag's timestamp wrap after 49.7 days.
TEST(RecordingIndex, GoesOnOverTheWrapOfATagsTime) {
    for (int64_t wrap : {int64_t{1} << 31, int64_t{1} << 32}) {
        RecordingIndex index(10);
        for (int64_t ms = wrap - 80; ms <= wrap + 80; ms += 40)
            index.add(Kind::kVideo, ms, ms == wrap + 40, static_cast<uint64_t>(ms));
        EXPECT_EQ(index.duration_ms(), 200) << wrap;
        EXPECT_EQ(index.last_ms(), wrap + 80);
        ASSERT_EQ(index.keyframes().entries().size(), 1u);
        EXPECT_EQ(index.keyframes().entries()[0].time_ms, wrap + 40);
    }
}

TEST(RecordingHead, KeepsItsSizeWhateverItTells) {
    Frame metadata = metadata_frame(Value::ecma_array({{"width", 640},
                                                       {"duration", 99.0},
                                                       {"encoder", "x"},
                                                       {"stereo", true},
                                                       {"secret", Value::object({{"a", 1}})},
                                                       {"long", std::string(300, 'x')}}));
    Value about = recording_about(&metadata, nullptr, nullptr, kServer);
    for (size_t keyframes : {0, 1, 7, 2000}) {
        size_t size = recording_head_size(about, keyframes);
        RecordingIndex index(keyframes);
        std::vector<uint8_t> begun = recording_head(about, index, 0, size);
        EXPECT_EQ(begun.size(), size);
        EXPECT_EQ(head_value(begun).get("duration").number_or(-1), 0);
        for (uint32_t i = 0; i < 3000; ++i) index.add(Kind::kVideo, i * 40, i % 2 == 0, size + i * 100);
        std::vector<uint8_t> ended = recording_head(about, index, 12345, size);
        EXPECT_EQ(ended.size(), size);
        Value v = head_value(ended);
        EXPECT_EQ(v.get("duration").number_or(-1), 120.0);
        EXPECT_EQ(v.get("filesize").number_or(-1), 12345);
        EXPECT_EQ(v.get("width").number_or(-1), 640);
        EXPECT_EQ(v.get("encoder").string_or(""), "x");
        EXPECT_FALSE(v.has("secret"));
        EXPECT_FALSE(v.has("long"));
        EXPECT_EQ(v.get("hasVideo").bool_or(false), true);
        EXPECT_EQ(v.get("hasAudio").bool_or(true), false);
        EXPECT_EQ(v.has("keyframes"), index.keyframes().entries().size() >= 2) << "an index of one keyframe is omitted";
        EXPECT_EQ(v.get("hasKeyframes").bool_or(false), v.has("keyframes"));
        if (!v.has("keyframes")) continue;
        const auto& times = v.get("keyframes").get("times").elements();
        const auto& positions = v.get("keyframes").get("filepositions").elements();
        ASSERT_EQ(times.size(), index.keyframes().entries().size());
        ASSERT_EQ(times.size(), positions.size());
        if (keyframes == 2000) {
            EXPECT_EQ(times.size(), 1500u);
            EXPECT_EQ(times[1].number_or(-1), 0.08);
            EXPECT_EQ(positions[1].number_or(-1), static_cast<double>(size + 200));
        }
        EXPECT_EQ(ended[4], 1);  // video only
        EXPECT_EQ(begun[4], 5);
    }
}

TEST(RecordingHead, AboutThatBecameTooLongIsLeftOut) {
    Value about = recording_about(nullptr, nullptr, nullptr, kServer);
    size_t size = recording_head_size(about, 2);
    Value longer = about;
    longer.set("text", std::string(250, 'x'));
    RecordingIndex index(2);
    std::vector<uint8_t> head = recording_head(longer, index, 5, size);
    EXPECT_EQ(head.size(), size);
    EXPECT_FALSE(head_value(head).has("text"));
    EXPECT_EQ(head_value(head).get("server").string_or(""), kServer);
}

TEST(RecordingHead, IsReadAgain) {
    Frame metadata = metadata_frame(Value::ecma_array({{"width", 640}}));
    Value about = recording_about(&metadata, nullptr, nullptr, kServer);
    size_t size = recording_head_size(about, 100);
    std::vector<uint8_t> file = recording_head(about, RecordingIndex(100), 0, size);
    EXPECT_EQ(recording_head_length(std::span(file).first(kHeadProbe)), size);
    file.push_back(9);
    auto head = read_recording_head(file, kServer);
    ASSERT_TRUE(head) << head.error().text();
    EXPECT_EQ(head->size, size);
    EXPECT_EQ(head->about, about);
    EXPECT_GE(recording_head_room(head->about, size), 100u);
    EXPECT_FALSE(read_recording_head(file, "other/1"));
    EXPECT_FALSE(read_recording_head(std::span(file).first(size - 1), kServer));
    file[0] = 'X';
    EXPECT_EQ(recording_head_length(file), 0u);
    EXPECT_FALSE(read_recording_head(file, kServer));
}

TEST(RecordingScan, FindsTheLastWholeTagInAnyPieces) {
    std::vector<uint8_t> tags;
    append(tags, tag_of(Kind::kVideo, 0, true, 20, true));
    append(tags, tag_of(Kind::kAudio, 0, false, 2, true));
    size_t key = tags.size();
    append(tags, tag_of(Kind::kVideo, 0, true, 500));
    append(tags, tag_of(Kind::kAudio, 10, false, 0));
    append(tags, tag_of(Kind::kVideo, 40, false, 30));
    size_t whole = tags.size();
    append(tags, tag_of(Kind::kVideo, 80, true, 30));
    tags.pop_back();
    for (size_t step : {size_t{1}, size_t{2}, size_t{11}, size_t{13}, size_t{100}, tags.size()}) {
        RecordingScan scan(1000, 16);
        for (size_t at = 0; at < tags.size(); at += step)
            EXPECT_TRUE(scan.feed(std::span(tags).subspan(at, std::min(step, tags.size() - at))));
        EXPECT_EQ(scan.whole_end(), 1000 + whole) << step;
        EXPECT_EQ(scan.index().frames(), 3u);
        EXPECT_EQ(scan.index().last_ms(), 40);
        ASSERT_EQ(scan.index().keyframes().entries().size(), 1u);
        EXPECT_EQ(scan.index().keyframes().entries()[0].position, 1000 + key);
    }
}

TEST(RecordingScan, TimesWrap) {
    for (int64_t wrap : {int64_t{1} << 31, int64_t{1} << 32}) {
        std::vector<uint8_t> tags;
        for (int64_t ms = wrap - 80; ms <= wrap + 80; ms += 40) {
            append(tags, tag_of(Kind::kVideo, 0, true, 20, true));  // a sequence header
            append(tags, tag_of(Kind::kVideo, ms, ms == wrap - 80, 30));
        }
        RecordingScan scan(0, 16);
        EXPECT_TRUE(scan.feed(tags));
        EXPECT_EQ(scan.index().frames(), 5u);
        EXPECT_EQ(scan.index().duration_ms(), 200) << wrap;
    }
}

TEST(RecordingScan, StopsAtZerosAndGarbage) {
    for (uint8_t rest : {0, 8, 0xff}) {
        std::vector<uint8_t> bytes = tag_of(Kind::kAudio, 7, false, 5);
        size_t whole = bytes.size();
        bytes.resize(whole + 5000, rest);
        RecordingScan scan(0, 16);
        EXPECT_FALSE(scan.feed(bytes));
        EXPECT_FALSE(scan.feed(bytes));
        EXPECT_EQ(scan.whole_end(), whole);
    }
}

TEST(RecordingScan, EnhancedTagsAreFramesToo) {
    Frame frame;
    frame.kind = Kind::kVideo;
    frame.codec = Codec::kHevc;
    frame.keyframe = true;
    std::vector<uint8_t> bytes;
    for (bool header : {true, false}) {
        frame.sequence_header = header;
        uint8_t body[kMaxBodyHeader];
        size_t n = put_body_header(frame, body);
        std::vector<uint8_t> tag(kTagHeaderSize + n + 4 + kPreviousTagSize);
        auto size = static_cast<uint32_t>(n + 4);
        uint8_t* p = put_tag_header(tag.data(), TagType::kVideo, size, 1000);
        std::copy_n(body, n, p);
        put_previous_tag_size(p + size, size);
        append(bytes, tag);
    }
    RecordingScan scan(0, 16);
    EXPECT_TRUE(scan.feed(bytes));
    EXPECT_EQ(scan.index().frames(), 1u);
    EXPECT_EQ(scan.index().keyframes().entries().size(), 1u);
}

}  // namespace flv
