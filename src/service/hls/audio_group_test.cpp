#include "service/hls/audio_group.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/hex_testing.h"

namespace service::hls {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;

Frame frame(Codec codec, uint8_t track, int64_t dts, std::string_view payload) {
    Frame out;
    out.kind = Kind::kAudio;
    out.codec = codec;
    out.track = track;
    out.dts = media::from_ms(dts);
    out.payload = base::Slice::copy(base::hex(payload));
    return out;
}

Frame header(Codec codec, uint8_t track, std::string_view payload) {
    Frame out = frame(codec, track, 0, payload);
    out.sequence_header = true;
    return out;
}

// A stream of audio tracks in memory, one segment after the other.
class AudioGroupTest : public testing::Test, public RenditionHost {
  protected:
    void SetUp() override { use("memory"); }
    void use(const std::string& storage, bool mp4 = false) {
        hls_.storage = storage;
        hls_.use_fmp4 = mp4;
        const SegmentPaths names = *SegmentPaths::make(hls_, {"v", "live", "s"}, true);
        SegmentStoreOptions options;
        options.vhost = "v";
        options.window = {60'000, 1'000};
        RenditionHost& host = *this;
        group_.reset();
        main_ = std::make_unique<Rendition>(host, hls_, names, options, index_);
        group_ = std::make_unique<AudioGroup>(
            mp4,
            [this, &host, names, options](RenditionId id) {
                return std::make_unique<Rendition>(host, hls_, names.of_rendition(id), options, index_, main_.get());
            },
            [this](RenditionId id, const base::Error& why) {
                left_out_.push_back(std::to_string(id) + ": " + why.text());
            });
    }
    void update(const Frame& header) {
        tracks_.update(header);
        changed_ = true;
    }
    void aac(uint8_t track) { update(header(Codec::kAac, track, "1210")); }

    // A second of the stream, with a frame of each of these tracks.
    void segment(std::initializer_list<int> tracks) {
        const Frame first = frame(Codec::kAac, 0, dts_, "2122");
        media::TrackSet main_tracks = tracks_;
        std::erase_if(main_tracks.tracks, [](const media::Track& track) { return track.index != 0; });
        SegmentInfo info;
        info.number = ++number_;
        info.discontinuity = changed_ && number_ > 1;
        const Opening opening{tracks_, first, changed_, info.discontinuity, 0};
        changed_ = false;
        ASSERT_TRUE(main_->open(main_tracks, first, info, opening.tracks_changed));
        group_->open(opening, info);
        ASSERT_TRUE(main_->add(first));
        for (const int track : tracks) group_->add(frame(Codec::kAac, static_cast<uint8_t>(track), dts_, "2122"));
        dts_ += 1'000;
        const Closing closing{1'000, true, std::nullopt};
        ASSERT_TRUE(main_->close(closing));
        group_->close(closing);
    }
    std::vector<std::string> uris(uint8_t track) const {
        std::vector<std::string> out;
        const Rendition* rendition = group_->find(track);
        if (!rendition || !rendition->view()) return out;
        for (const auto& item : rendition->view()->playlist.segments) out.push_back(item.uri);
        return out;
    }

    void segment_done(Rendition& rendition, const Entry& entry, uint64_t sequence, const std::string&) override {
        done_.push_back(std::to_string(sequence) + " " + entry.path + " of " + rendition.paths().playlist());
    }
    void store_failed(Rendition&, const std::string&, const base::Error&) override { ++failures_; }
    void found_renditions(const std::vector<RenditionId>&, bool) override {}

    VhostConfig hls_;
    Index index_;
    media::TrackSet tracks_;
    bool changed_ = false;
    uint64_t number_ = 0;
    int64_t dts_ = 0;
    std::unique_ptr<Rendition> main_;
    std::unique_ptr<AudioGroup> group_;
    std::vector<std::string> done_, left_out_;
    int failures_ = 0;
};

using Strings = std::vector<std::string>;

TEST_F(AudioGroupTest, ATrackBeginsWithTheSegmentThatItIsPartOf) {
    for (const bool mp4 : {false, true}) {
        number_ = 0;
        tracks_.tracks.clear();
        done_.clear();
        use("memory", mp4);
        aac(0);
        segment({});
        EXPECT_EQ(group_->playable(), std::vector<RenditionId>{});
        aac(1);
        segment({1});
        segment({1, 5});
        const std::string extension = mp4 ? ".m4s" : ".ts";
        EXPECT_EQ(uris(1), (Strings{"s-1~audio2" + extension, "s-2~audio2" + extension}));
        EXPECT_EQ(group_->playable(), (std::vector<RenditionId>{0, 1}));
        EXPECT_EQ(done_.back(), "2 live/s-2~audio2" + extension + " of live/s~audio2.m3u8");
        const auto& playlist = group_->find(1)->view()->playlist;
        EXPECT_EQ(playlist.media_sequence, 1u);
        EXPECT_EQ(playlist.discontinuity_sequence, 0u);
        EXPECT_TRUE(playlist.segments[0].discontinuity) << "as in the main playlist";
        EXPECT_EQ(playlist.segments[0].map_uri, mp4 ? "s/init~audio2.mp4" : "");
        EXPECT_EQ(group_->find(5), nullptr) << "a frame of a track that there is not";
    }
}

TEST_F(AudioGroupTest, ATrackThatGoesEndsItsPlaylistAndLeavesWithTheMainOne) {
    aac(0), aac(1);
    segment({1});
    segment({1});
    std::erase_if(tracks_.tracks, [](const media::Track& track) { return track.index == 1; });
    changed_ = true;
    segment({});
    group_->tick(runtime::now_ms(), true);
    EXPECT_EQ(group_->playable(), std::vector<RenditionId>{});
    EXPECT_TRUE(group_->find(1)->view()->playlist.ended);
    EXPECT_EQ(uris(1), (Strings{"s-0~audio2.ts", "s-1~audio2.ts"}));
    // It comes back.
    aac(1);
    segment({1});
    EXPECT_EQ(uris(1), Strings{"s-3~audio2.ts"}) << "a playlist has no hole";
    EXPECT_FALSE(group_->find(1)->view()->playlist.ended);
    EXPECT_EQ(group_->find(1)->view()->playlist.discontinuity_sequence, 1u)
        << "that of the main one's segment 3, and its own";
    std::erase_if(tracks_.tracks, [](const media::Track& track) { return track.index == 1; });
    changed_ = true;
    for (int i = 0; i < 70; ++i) segment({});
    group_->tick(runtime::now_ms(), true);
    EXPECT_EQ(uris(1), Strings{});
    group_->tick(runtime::now_ms() + 600'000, true);
    EXPECT_EQ(group_->find(1), nullptr);
}

TEST_F(AudioGroupTest, ASegmentWithoutFramesIsNone) {
    aac(0), aac(1);
    segment({1});
    segment({});
    EXPECT_EQ(uris(1), Strings{"s-0~audio2.ts"});
    segment({1});
    EXPECT_EQ(uris(1), Strings{"s-2~audio2.ts"});
    EXPECT_EQ(failures_, 0);
}

TEST_F(AudioGroupTest, ACodecThatTheFormatDoesNotCarryIsLeftOutOnce) {
    aac(0), aac(1);
    update(header(Codec::kFlac, 2, "1000100000000000000012c440f000000000000000000000000000000000000000000000"));
    segment({1, 2});
    segment({1, 2});
    ASSERT_EQ(left_out_.size(), 1u);
    EXPECT_TRUE(left_out_[0].starts_with("2: TS carries neither")) << left_out_[0];
    EXPECT_EQ(group_->playable(), (std::vector<RenditionId>{0, 1}));
    // As another codec it is not.
    aac(2);
    segment({1, 2});
    EXPECT_EQ(group_->playable(), (std::vector<RenditionId>{0, 1, 2}));
    EXPECT_EQ(uris(2), Strings{"s-2~audio3.ts"});
}

TEST_F(AudioGroupTest, InMp4TheVideoIsThereAloneToo) {
    for (const bool mp4 : {false, true}) {
        number_ = 0;
        tracks_.tracks.clear();
        use("memory", mp4);
        Frame video = header(Codec::kVp9, 0, "000b820202020000");
        video.kind = Kind::kVideo;
        update(video);
        aac(0);
        Frame key = frame(Codec::kVp9, 0, 0, "824983420013f00b360438241c18");
        key.kind = Kind::kVideo;
        key.keyframe = true;
        const auto one = [&] {
            SegmentInfo info;
            info.number = ++number_;
            const Opening opening{tracks_, key, true, number_ > 1, 0};
            ASSERT_TRUE(main_->open(tracks_, key, info, true));
            group_->open(opening, info);
            ASSERT_TRUE(main_->add(frame(Codec::kAac, 0, 0, "2122")));
            group_->add(key);
            for (const uint8_t track : {0, 1}) group_->add(frame(Codec::kAac, track, 0, "2122"));
            ASSERT_TRUE(main_->close({1'000, true, std::nullopt}));
            group_->close({1'000, true, std::nullopt});
        };
        one();
        EXPECT_EQ(group_->find(kVideoRendition), nullptr) << "one audio track";
        aac(1);
        one();
        EXPECT_EQ(group_->video_apart() != nullptr, mp4);
        EXPECT_EQ(uris(kVideoRendition), mp4 ? Strings{"s-1~video.m4s"} : Strings{});
        EXPECT_EQ(uris(0), mp4 ? Strings{"s-1~audio1.m4s"} : Strings{});
        EXPECT_EQ(uris(1), mp4 ? Strings{"s-1~audio2.m4s"} : Strings{"s-1~audio2.ts"});
        EXPECT_EQ(group_->playable(), (std::vector<RenditionId>{0, 1}));
        std::erase_if(tracks_.tracks,
                      [](const media::Track& track) { return track.kind == Kind::kAudio && track.index == 1; });
        one();
        group_->tick(runtime::now_ms(), true);
        EXPECT_EQ(group_->playable(), std::vector<RenditionId>{});
        EXPECT_EQ(mp4 && group_->find(kVideoRendition)->view()->playlist.ended, mp4);
    }
}

TEST_F(AudioGroupTest, WhatIsLostIsLostInAll) {
    aac(0), aac(1);
    segment({1});
    // A segment that the main rendition loses.
    const Frame first = frame(Codec::kAac, 0, dts_, "2122");
    SegmentInfo info;
    info.number = ++number_;
    const Opening opening{tracks_, first, false, false, 0};
    ASSERT_TRUE(main_->open(tracks_, first, info, false));
    group_->open(opening, info);
    group_->add(frame(Codec::kAac, 1, dts_, "2122"));
    main_->lose();
    group_->close({1'000, true, std::nullopt});
    segment({1});
    EXPECT_EQ(uris(1), (Strings{"s-0~audio2.ts", "s-1~audio2.ts"}));
    const auto& main = main_->view()->playlist;
    const auto& audio = group_->find(1)->view()->playlist;
    EXPECT_EQ(main.media_sequence, audio.media_sequence);
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(main.segments[i].discontinuity, audio.segments[i].discontinuity);
    EXPECT_TRUE(audio.segments[1].discontinuity);
}

}  // namespace
}  // namespace service::hls
