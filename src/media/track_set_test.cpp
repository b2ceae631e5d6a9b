#include "media/track_set.h"

#include <gtest/gtest.h>

namespace media {
namespace {

Frame frame(Kind kind, uint8_t track, Codec codec, bool header, std::string_view payload = "x") {
    Frame out;
    out.kind = kind;
    out.track = track;
    out.codec = codec;
    out.sequence_header = header;
    out.payload = base::Slice::copy(payload);
    return out;
}

TEST(TrackSet, TracksAreInOrderOfKindAndIndex) {
    TrackSet set;
    for (const Frame& f : {frame(Kind::kAudio, 1, Codec::kAac, true), frame(Kind::kVideo, 0, Codec::kH264, true),
                           frame(Kind::kAudio, 0, Codec::kAac, true), frame(Kind::kVideo, 2, Codec::kVp9, true)}) {
        EXPECT_TRUE(set.changes_state(f));
        set.update(f);
        EXPECT_FALSE(set.changes_state(f));
    }
    std::vector<std::pair<Kind, int>> order;
    for (const Track& track : set.tracks) order.emplace_back(track.kind, track.index);
    EXPECT_EQ(order, (std::vector<std::pair<Kind, int>>{
                         {Kind::kVideo, 0}, {Kind::kVideo, 2}, {Kind::kAudio, 0}, {Kind::kAudio, 1}}));
    EXPECT_EQ(set.count(Kind::kAudio), 2u);
    EXPECT_EQ(set.headers().size(), 4u);
    EXPECT_EQ(set.find(Kind::kVideo, 1), nullptr);
}

TEST(TrackSet, AFrameIsNewsWhenItsCodecIs) {
    TrackSet set;
    EXPECT_TRUE(set.changes_state(frame(Kind::kVideo, 0, Codec::kH264, false)));
    set.update(frame(Kind::kVideo, 0, Codec::kH264, false));
    EXPECT_EQ(set.config(Kind::kVideo), nullptr) << "its sequence header has not arrived";
    EXPECT_FALSE(set.changes_state(frame(Kind::kVideo, 0, Codec::kH264, false, "another")));
    set.update(frame(Kind::kVideo, 0, Codec::kH264, true, "header"));
    ASSERT_NE(set.config(Kind::kVideo), nullptr);
    // A codec without a sequence header replaces one that has it.
    set.update(frame(Kind::kVideo, 0, Codec::kVp8, false, "frame"));
    EXPECT_EQ(set.codec(Kind::kVideo), Codec::kVp8);
    EXPECT_EQ(set.config(Kind::kVideo), nullptr);
    ASSERT_TRUE(set.video()->header);
    EXPECT_EQ(set.video()->header->payload.text(), "frame");
}

TEST(TrackSet, AChangeHasAnotherRevision) {
    TrackSet set;
    set.update(frame(Kind::kVideo, 0, Codec::kH264, true));
    set.update(frame(Kind::kAudio, 0, Codec::kAac, true));
    const uint32_t video = set.video()->revision, audio = set.audio()->revision;
    EXPECT_NE(video, audio);
    set.update(frame(Kind::kAudio, 0, Codec::kAac, true, "another"));
    EXPECT_EQ(set.video()->revision, video);
    EXPECT_NE(set.audio()->revision, audio);
    Frame metadata = frame(Kind::kData, 0, Codec::kAmf0, true);
    EXPECT_TRUE(set.changes_state(metadata));
    set.update(metadata);
    EXPECT_FALSE(set.changes_state(metadata));
    EXPECT_EQ(set.metadata_revision, set.revision);
    metadata.sequence_header = false;
    metadata.payload = base::Slice::copy("a cue");
    EXPECT_FALSE(set.changes_state(metadata)) << "a data message belongs to no track";
}

TEST(TrackSet, NamesApplyToPresentAndLaterTracks) {
    TrackSet set;
    set.update(frame(Kind::kAudio, 0, Codec::kAac, true));
    const uint32_t revision = set.audio()->revision;
    set.describe({{Kind::kAudio, 0, "eng", "Stadium"}, {Kind::kAudio, 1, "deu", ""}});
    EXPECT_EQ(set.audio()->language, "eng");
    EXPECT_EQ(set.audio()->label, "Stadium");
    EXPECT_EQ(set.audio()->revision, revision) << "its decoder is the same";
    EXPECT_EQ(set.count(Kind::kAudio), 1u);
    set.update(frame(Kind::kAudio, 1, Codec::kAac, true));
    EXPECT_EQ(set.find(Kind::kAudio, 1)->language, "deu");
}

}  // namespace
}  // namespace media
