#include "convert/segments/segment_muxer.h"

#include <gtest/gtest.h>

#include <map>

#include "base/hex_testing.h"
#include "media/aac.h"

namespace convert {

namespace {

struct Bytes : LaneSink {
    std::vector<uint8_t> all;
    std::map<Lanes, std::string> lanes;
    std::vector<Lanes> order;
    void put(Lanes lane, Pieces pieces) override {
        for (const auto bytes : pieces) {
            all.insert(all.end(), bytes.begin(), bytes.end());
            lanes[lane].append(bytes.begin(), bytes.end());
        }
        if (order.empty() || order.back() != lane) order.push_back(lane);
    }
};

media::Frame vp9(std::string_view payload, bool header) {
    media::Frame frame;
    frame.kind = media::Kind::kVideo;
    frame.codec = media::Codec::kVp9;
    frame.sequence_header = header;
    frame.keyframe = !header;
    frame.payload = base::Slice::copy(base::hex(payload));
    return frame;
}

}  // namespace

TEST(HlsPacker, TheInitSegmentHasTheSizeThatOnlyTheFirstFrameTells) {
    Bytes sink;
    auto muxer = make_mp4_muxer(sink);
    media::TrackSet tracks;
    tracks.update(vp9("000b820202020000", true));
    media::Frame first = vp9("824983420013f00b360438241c18", false);  // 320x180
    muxer->open(tracks, first, true);
    EXPECT_TRUE(muxer->has(media::Kind::kVideo, 0));
    EXPECT_FALSE(muxer->has(media::Kind::kAudio, 0));
    // vp09's fields: size, then 72 dpi.
    EXPECT_NE(muxer->init(kMp4Lanes).find(std::string("\x01\x40\x00\xb4\x00\x48\x00\x00", 8)), std::string::npos);
    ASSERT_TRUE(muxer->add(first));
    muxer->end_part(media::from_ms(40));
    EXPECT_EQ(std::string(sink.all.begin() + 4, sink.all.begin() + 8), "styp");
}

namespace {

media::TrackSet two_audio_tracks() {
    media::TrackSet tracks;
    tracks.describe({{media::Kind::kAudio, 0, "eng"}, {media::Kind::kAudio, 1, "fr"}});
    for (uint8_t index : {0, 1}) {
        media::Frame header;
        header.kind = media::Kind::kAudio;
        header.codec = media::Codec::kAac;
        header.track = index;
        header.sequence_header = true;
        header.payload = media::make_aac_config(2, 48'000, 2);
        tracks.update(header);
    }
    return tracks;
}

media::Frame audio_of(uint8_t track, int64_t ms = 0) {
    media::Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = media::Codec::kAac;
    frame.track = track;
    frame.dts = media::from_ms(ms);
    frame.payload = base::Slice::copy("raw");
    return frame;
}

size_t count(const std::string& text, const std::string& what) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++found;
    return found;
}

}  // namespace

TEST(HlsPacker, EachAudioTrackOfTransportStreamsIsALane) {
    Bytes sink;
    auto muxer = make_ts_muxer(sink);
    media::Frame first;
    muxer->open(two_audio_tracks(), first, true);
    for (const uint8_t track : {0, 1}) {
        EXPECT_TRUE(muxer->has(media::Kind::kAudio, track));
        ASSERT_TRUE(muxer->add(audio_of(track)));
    }
    EXPECT_FALSE(muxer->has(media::Kind::kAudio, 2));
    EXPECT_FALSE(muxer->has(media::Kind::kVideo, 0));
    ASSERT_TRUE(muxer->add(audio_of(2)));
    EXPECT_TRUE(sink.all.empty());  // each waits for others of its track
    muxer->end_part({});
    const std::string one = sink.lanes[muxer->lane_of(media::Kind::kAudio, 0)];
    const std::string two = sink.lanes[muxer->lane_of(media::Kind::kAudio, 1)];
    EXPECT_EQ(sink.lanes.size(), 2u);
    EXPECT_EQ(muxer->lane_of(media::Kind::kVideo, 0), muxer->lane_of(media::Kind::kAudio, 0));
    EXPECT_EQ(one.size(), 3 * 188u);
    EXPECT_EQ(two.size(), 3 * 188u);
    EXPECT_EQ(count(one,
                    "\x0a\x04"
                    "eng"),
              1u);
    EXPECT_EQ(count(two,
                    "\x0a\x04"
                    "fra"),
              1u);
    // Each part has the tables.
    ASSERT_TRUE(muxer->add(audio_of(0, 400)));
    muxer->end_part({});
    EXPECT_EQ(count(sink.lanes[muxer->lane_of(media::Kind::kAudio, 0)], "eng"), 2u);
}

TEST(HlsPacker, EachTrackOfMp4IsALane) {
    Bytes sink;
    auto muxer = make_mp4_muxer(sink);
    media::TrackSet tracks = two_audio_tracks();
    tracks.update(vp9("000b820202020000", true));
    const media::Frame key = vp9("824983420013f00b360438241c18", false);
    const Lanes video = muxer->lane_of(media::Kind::kVideo, 0), audio = muxer->lane_of(media::Kind::kAudio, 0);
    const Lanes other = muxer->lane_of(media::Kind::kAudio, 1);
    muxer->open(tracks, key, true);
    ASSERT_TRUE(muxer->add(key));
    ASSERT_TRUE(muxer->add(audio_of(1, 5)));
    ASSERT_TRUE(muxer->add(audio_of(0, 10)));
    EXPECT_EQ(muxer->memory(), key.payload.size() + 6);
    muxer->end_part(media::from_ms(40));
    EXPECT_EQ(muxer->memory(), 0u);
    EXPECT_EQ(sink.order, (std::vector<Lanes>{kMp4Lanes, video, audio, other}));
    for (const Lanes lane : {video, audio, other}) {
        EXPECT_EQ(count(sink.lanes[lane], "moof"), 1u);
        EXPECT_EQ(count(sink.lanes[lane], "traf"), 1u);
    }
    EXPECT_EQ(count(sink.lanes[kMp4Lanes], "styp"), 1u);
    // Nothing of the other tracks, and the ids are those of the fragments.
    EXPECT_EQ(count(muxer->init(video), "trak"), 1u);
    EXPECT_EQ(count(muxer->init(video | audio), "trak"), 2u);
    const auto id = [](const std::string& text, size_t at) { return static_cast<int>(text[at + 3]); };
    EXPECT_EQ(id(sink.lanes[other], sink.lanes[other].find("tfhd") + 8), 3);
    const std::string init = muxer->init(other);
    EXPECT_EQ(id(init, init.find("trex") + 8), 3);
    EXPECT_EQ(muxer->times(video).timescale, 90'000u);
    EXPECT_EQ(muxer->times(video).presented, 0);
    EXPECT_EQ(muxer->times(video).end, 3'600);
    EXPECT_GT(muxer->times(audio).begin, 0);
    // A track without frames has no fragment.
    ASSERT_TRUE(muxer->add(vp9("824983420013f00b360438241c18", false)));
    muxer->end_part({});
    EXPECT_EQ(count(sink.lanes[video], "moof"), 2u);
    EXPECT_EQ(count(sink.lanes[audio], "moof"), 1u);
    EXPECT_EQ(count(sink.lanes[kMp4Lanes], "styp"), 1u);
    muxer->open(tracks, key, false);
    EXPECT_EQ(muxer->times(audio).timescale, 0u) << "of the open segment";
    ASSERT_TRUE(muxer->add(audio_of(0, 2'000)));
    muxer->end_part({});
    EXPECT_EQ(count(sink.lanes[kMp4Lanes], "styp"), 2u);
}

}  // namespace convert
