#include "convert/segments/default_audio.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "convert/segments/segment_muxer.h"

namespace convert {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;

Frame frame(Codec codec, uint8_t track, std::string_view payload = "") {
    Frame out;
    out.kind = media::codec_info(codec).kind;
    out.codec = codec;
    out.track = track;
    out.sequence_header = media::codec_info(codec).has_sequence_header && !payload.empty();
    out.payload = base::Slice::copy(base::hex(payload));
    return out;
}

Frame aac(uint8_t track) { return frame(Codec::kAac, track, "1210"); }

class DefaultAudioTest : public testing::TestWithParam<bool> {
  protected:
    // "A0=AAC A2=Opus | 1: reason": the tracks of HLS, and those that are left out by their published index.
    std::string choose(std::initializer_list<Frame> published) {
        tracks_ = base::make_ref<media::TrackSet>();
        for (const Frame& frame : published) tracks_->update(frame);
        std::string left_out;
        chosen_ = default_audio_.choose(tracks_, [&](const media::Track& track, const base::Error& why) {
            left_out += " | " + std::to_string(track.index) + ": " + why.text();
        });
        std::string out;
        for (const media::Track& track : chosen_->tracks) {
            if (track.header) {
                EXPECT_EQ(track.header->track, track.index) << "the header is one of its track";
            }
            out += (out.empty() ? "" : " ") + std::string(track.kind == Kind::kVideo ? "V" : "A") +
                   std::to_string(track.index) + "=" + std::string(media::codec_info(track.codec).name);
        }
        return out + left_out;
    }
    // The index of a frame in HLS; -1: it is no part of it.
    int index_of(Codec codec, uint8_t track) const {
        const Frame published = frame(codec, track);
        return default_audio_.has(published) ? default_audio_.index_of(published) : -1;
    }

    DefaultAudio default_audio_{GetParam() ? mp4_carries : ts_carries};
    base::Ref<media::TrackSet> tracks_, chosen_;
};

INSTANTIATE_TEST_SUITE_P(Formats, DefaultAudioTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Mp4" : "Ts"; });

TEST_P(DefaultAudioTest, TheFirstTrackLeadsWhereItIsCarried) {
    EXPECT_EQ(choose({aac(0), frame(Codec::kSpeex, 1, "00"), aac(2)}), "A0=AAC A1=Speex A2=AAC");
    EXPECT_EQ(chosen_.get(), tracks_.get()) << "no copy is made";
    EXPECT_EQ(index_of(Codec::kAac, 0), 0);
    EXPECT_EQ(index_of(Codec::kAac, 2), 2);
}

TEST_P(DefaultAudioTest, TracksBeforeTheFirstThatIsCarriedAreLeftOut) {
    const std::string format = GetParam() ? "MP4 track: Speex is not supported in MP4" : "MPEG-TS does not carry Speex";
    EXPECT_EQ(choose({frame(Codec::kH264, 0), frame(Codec::kSpeex, 0, "00"), frame(Codec::kAac, 1), aac(2), aac(3)}),
              "V0=H264 A0=AAC A3=AAC | 0: " + format + " | 1: AAC without a sequence header");
    EXPECT_EQ(chosen_->audio()->revision, tracks_->find(Kind::kAudio, 2)->revision);
    EXPECT_EQ(index_of(Codec::kH264, 0), 0);
    EXPECT_EQ(index_of(Codec::kH264, 1), 1);
    EXPECT_EQ(index_of(Codec::kSpeex, 0), -1);
    EXPECT_EQ(index_of(Codec::kAac, 1), -1);
    EXPECT_EQ(index_of(Codec::kAac, 2), 0);
    EXPECT_EQ(index_of(Codec::kAac, 3), 3);
    // The first track gets another codec.
    EXPECT_EQ(choose({aac(0), aac(2)}), "A0=AAC A2=AAC");
    EXPECT_EQ(index_of(Codec::kAac, 0), 0);
    EXPECT_EQ(index_of(Codec::kAac, 2), 2);
}

TEST_P(DefaultAudioTest, WithoutATrackThatIsCarriedAllStay) {
    EXPECT_EQ(choose({frame(Codec::kSpeex, 0, "00"), frame(Codec::kPcmAlaw, 1, "00")}), "A0=Speex A1=PCMA");
    EXPECT_EQ(choose({}), "");
    EXPECT_EQ(index_of(Codec::kPcmAlaw, 1), 1);
}

TEST(DefaultAudio, WhatEachFormatCarries) {
    const auto carried = [](const Frame& header) {
        media::TrackSet tracks;
        tracks.update(header);
        return std::string(ts_carries(tracks.tracks[0]) ? "ts" : "") + (mp4_carries(tracks.tracks[0]) ? "mp4" : "");
    };
    EXPECT_EQ(carried(aac(0)), "tsmp4");
    EXPECT_EQ(carried(frame(Codec::kOpus, 0, "fcfffe")), "tsmp4");
    EXPECT_EQ(carried(frame(Codec::kPcmUlaw, 0, "00")), "");
    EXPECT_EQ(carried(frame(Codec::kAac, 0, "12")), "") << "a header that is cut short";
    EXPECT_EQ(carried(frame(Codec::kH264, 0)), "") << "no header";
    EXPECT_EQ(carried(frame(Codec::kAv1, 0, "81000c000a0b00000004453e7fb2ff0640")), "mp4");
}

}  // namespace
}  // namespace convert
