#include "service/hls/renditions.h"

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
class RenditionsTest : public testing::Test, public RenditionHost {
  protected:
    void SetUp() override { use("memory"); }
    void use(const std::string& storage, bool mp4 = false) {
        hls_.storage = storage;
        hls_.use_fmp4 = mp4;
        const SegmentPaths names = *SegmentPaths::make(hls_, {"v", "live", "s"}, true);
        SegmentFilesOptions options;
        options.vhost = "v";
        timeline_ = std::make_shared<SegmentTimeline>(SegmentTimelineOptions{60'000, 1'000});
        all_.reset();
        writer_ = std::make_unique<SegmentWriter>(SegmentWriterOptions{mp4, storage != "disk", false});
        const auto make = [this, options, names](RenditionId id) {
            RenditionHost& host = *this;
            return std::make_unique<Rendition>(host, hls_, names.of_rendition(id), options, resources_, timeline_,
                                               *writer_);
        };
        all_ = std::make_unique<Renditions>(mp4, *writer_, make, [this](RenditionId id, const base::Error& why) {
            left_out_.push_back(std::to_string(id - kFirstAudioRendition) + ": " + why.text());
        });
        all_->add(kMainRendition);
    }
    void update(const Frame& header) {
        tracks_.update(header);
        changed_ = true;
    }
    void aac(uint8_t track) { update(header(Codec::kAac, track, "1210")); }

    // A second of the stream, with a frame of each of these tracks.
    void segment(std::initializer_list<int> tracks) {
        const Frame first = frame(Codec::kAac, 0, dts_, "2122");
        open(first, std::exchange(changed_, false));
        ASSERT_TRUE(writer_->add(first));
        for (const int track : tracks) add(frame(Codec::kAac, static_cast<uint8_t>(track), dts_, "2122"));
        dts_ += 1'000;
        close();
    }
    void open(const Frame& first, bool changed) {
        timeline_->open({.discontinuity = changed && !timeline_->empty()});
        writer_->open(tracks_, first, changed);
        ASSERT_TRUE(all_->open(tracks_));
    }
    void add(const Frame& frame) {
        const auto added = writer_->add(frame);
        if (!added) all_->leave_out(audio_rendition(frame.track), added.error());
    }
    void close() {
        writer_->end_part({});
        const auto id = timeline_->close(std::chrono::seconds(1), runtime::now_ms());
        all_->close(id);
    }
    void tick(int64_t now_ms) {
        timeline_->expire(now_ms);
        all_->for_each([](Rendition& rendition) { rendition.forget(); });
        all_->end_left_out();
    }
    std::vector<std::string> uris(uint8_t track) const { return uris_of(audio_rendition(track)); }
    std::vector<std::string> uris_of(RenditionId id) const {
        std::vector<std::string> out;
        const Rendition* rendition = all_->find(id);
        if (!rendition || !rendition->view()) return out;
        for (const auto& item : rendition->view()->playlist().segments) out.push_back((item.gap ? "!" : "") + item.uri);
        return out;
    }

    void segment_done(Rendition& rendition, SegmentTimeline::Id id, const std::string&) override {
        done_.push_back(std::to_string(timeline_->sequence(id)) + " " + rendition.list().find(id)->path + " of " +
                        rendition.paths().playlist());
    }
    void segment_failed(const std::string&, const base::Error&) override { ++failures_; }
    std::vector<const Rendition*> others(const Rendition&) const override { return {}; }

    VhostConfig hls_;
    net::Resources resources_;
    media::TrackSet tracks_;
    bool changed_ = false;
    int64_t dts_ = 0;
    std::shared_ptr<SegmentTimeline> timeline_;
    std::unique_ptr<SegmentWriter> writer_;
    std::unique_ptr<Renditions> all_;
    std::vector<std::string> done_, left_out_;
    int failures_ = 0;
};

using Strings = std::vector<std::string>;

TEST_F(RenditionsTest, ATrackBeginsWithTheSegmentThatItIsPartOf) {
    for (const bool mp4 : {false, true}) {
        tracks_.tracks.clear();
        done_.clear();
        use("memory", mp4);
        aac(0);
        segment({});
        EXPECT_EQ(all_->playable(), std::vector<uint8_t>{});
        aac(1);
        segment({1});
        segment({1, 5});
        const std::string extension = mp4 ? ".m4s" : ".ts";
        EXPECT_EQ(uris(1), (Strings{"s-1~audio2" + extension, "s-2~audio2" + extension}));
        EXPECT_EQ(all_->playable(), (std::vector<uint8_t>{0, 1}));
        EXPECT_EQ(done_.back(), "2 live/s-2~audio2" + extension + " of live/s~audio2.m3u8");
        const auto view = all_->find(audio_rendition(1))->view();
        const auto& playlist = view->playlist();
        EXPECT_EQ(playlist.media_sequence, 1u);
        EXPECT_EQ(playlist.discontinuity_sequence, 0u);
        EXPECT_TRUE(playlist.segments[0].discontinuity) << "as in the main playlist";
        EXPECT_EQ(playlist.segments[0].map_uri, mp4 ? "s/init~audio2.mp4" : "");
        EXPECT_EQ(all_->find(audio_rendition(5)), nullptr) << "a frame of a track that there is not";
    }
}

TEST_F(RenditionsTest, ATrackThatGoesEndsItsPlaylist) {
    aac(0), aac(1);
    segment({1});
    segment({1});
    std::erase_if(tracks_.tracks, [](const media::Track& track) { return track.index == 1; });
    changed_ = true;
    segment({});
    tick(runtime::now_ms());
    EXPECT_EQ(all_->playable(), std::vector<uint8_t>{});
    EXPECT_TRUE(all_->find(audio_rendition(1))->view()->playlist().ended);
    EXPECT_EQ(uris(1), (Strings{"s-0~audio2.ts", "s-1~audio2.ts"}));
    // It comes back.
    aac(1);
    segment({1});
    EXPECT_EQ(uris(1), Strings{"s-3~audio2.ts"}) << "behind its end it is another playlist";
    EXPECT_FALSE(all_->find(audio_rendition(1))->view()->playlist().ended);
    EXPECT_EQ(all_->find(audio_rendition(1))->view()->playlist().discontinuity_sequence, 1u)
        << "that of the segment that it has not";
    std::erase_if(tracks_.tracks, [](const media::Track& track) { return track.index == 1; });
    changed_ = true;
    for (int i = 0; i < 70; ++i) segment({});
    tick(runtime::now_ms());
    EXPECT_EQ(uris(1), Strings{});
    tick(runtime::now_ms() + 600'000);
    EXPECT_EQ(all_->find(audio_rendition(1)), nullptr);
}

TEST_F(RenditionsTest, ASegmentWithoutFramesIsAGap) {
    aac(0), aac(1);
    segment({1});
    segment({});
    segment({1});
    EXPECT_EQ(uris(1), (Strings{"s-0~audio2.ts", "!s-1~audio2.ts", "s-2~audio2.ts"}));
    EXPECT_EQ(failures_, 0);
}

TEST_F(RenditionsTest, ACodecThatTheFormatDoesNotCarryIsLeftOutOnce) {
    aac(0), aac(1);
    update(header(Codec::kFlac, 2, "1000100000000000000012c440f000000000000000000000000000000000000000000000"));
    segment({1, 2});
    segment({1, 2});
    ASSERT_EQ(left_out_.size(), 1u);
    EXPECT_TRUE(left_out_[0].starts_with("2: TS carries neither")) << left_out_[0];
    EXPECT_EQ(all_->playable(), (std::vector<uint8_t>{0, 1}));
    // As another codec it is not.
    aac(2);
    segment({1, 2});
    EXPECT_EQ(all_->playable(), (std::vector<uint8_t>{0, 1, 2}));
    EXPECT_EQ(uris(2), Strings{"s-2~audio3.ts"});
}

TEST_F(RenditionsTest, InMp4TheVideoIsThereAloneToo) {
    for (const bool mp4 : {false, true}) {
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
            open(key, true);
            add(key);
            for (const uint8_t track : {0, 1}) add(frame(Codec::kAac, track, 0, "2122"));
            close();
        };
        one();
        EXPECT_EQ(all_->find(kVideoRendition), nullptr) << "one audio track";
        aac(1);
        one();
        EXPECT_EQ(all_->video_apart() != nullptr, mp4);
        if (mp4) {
            EXPECT_EQ(all_->find(kVideoRendition)->memory(), 0u) << "it is kept for the main rendition";
            EXPECT_EQ(all_->find(audio_rendition(0))->memory(), 0u);
            EXPECT_GT(all_->main()->memory(), 0u);
        }
        EXPECT_EQ(uris_of(kVideoRendition), mp4 ? Strings{"s-1~video.m4s"} : Strings{});
        EXPECT_EQ(uris(0), mp4 ? Strings{"s-1~audio1.m4s"} : Strings{});
        EXPECT_EQ(uris(1), mp4 ? Strings{"s-1~audio2.m4s"} : Strings{"s-1~audio2.ts"});
        EXPECT_EQ(all_->playable(), (std::vector<uint8_t>{0, 1}));
        std::erase_if(tracks_.tracks,
                      [](const media::Track& track) { return track.kind == Kind::kAudio && track.index == 1; });
        one();
        tick(runtime::now_ms());
        EXPECT_EQ(all_->playable(), std::vector<uint8_t>{});
        EXPECT_EQ(mp4 && all_->find(kVideoRendition)->view()->playlist().ended, mp4);
    }
}

TEST_F(RenditionsTest, BytesInMemoryAreDroppedInAll) {
    aac(0), aac(1);
    for (int i = 0; i < 3; ++i) segment({1});
    const auto oldest = all_->main()->oldest_in_memory();
    ASSERT_TRUE(oldest);
    EXPECT_EQ(all_->find(audio_rendition(1))->oldest_in_memory(), oldest);
    all_->main()->drop_from_memory(*oldest);
    all_->find(audio_rendition(1))->drop_from_memory(*oldest);
    EXPECT_EQ(all_->main()->view()->playlist().media_sequence, 1u);
    EXPECT_EQ(uris(1), (Strings{"s-1~audio2.ts", "s-2~audio2.ts"}));
    EXPECT_EQ(resources_.find("v", "live/s-0.ts"), nullptr);
    all_->main()->drop_from_memory(*all_->main()->oldest_in_memory());
    EXPECT_EQ(all_->main()->oldest_in_memory(), std::nullopt) << "the newest stays";
}

}  // namespace
}  // namespace service::hls
