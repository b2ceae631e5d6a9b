#include "service/api/diagnosis/stream_diagnosis.h"

#include <gtest/gtest.h>

#include "live/hub/testing.h"

namespace service::api {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;

constexpr int64_t kBegan = 1'000'000;

Frame frame(Kind kind, int64_t dts, bool keyframe = false, size_t bytes = 100) {
    Frame f;
    f.kind = kind;
    f.codec = kind == Kind::kVideo ? Codec::kH264 : Codec::kAac;
    f.dts = media::from_ms(dts);
    f.keyframe = keyframe;
    f.payload = base::Slice::copy(std::string(bytes, 'x'));
    return f;
}

class StreamDiagnosis : public ::testing::Test {
  protected:
    StreamDiagnosis() {
        health.restart(kBegan);
        tracks.update(live::testing::header(Kind::kVideo, "v"));
        tracks.update(live::testing::header(Kind::kAudio, "a"));
    }
    void give(const Frame& f, int64_t now_ms) {
        if (health.record(f)) health.record_window_end(now_ms);
    }
    // A video frame every 40 ms and an audio frame every 20 ms, in real time except for `video` and `audio`: their
    // clock errors in parts per 1000.
    void play(int64_t s, int64_t gop_ms = 2000, int video = 0, int audio = 0) {
        for (int64_t ms = 0; ms <= s * 1000; ms += 20) {
            now_ms = kBegan + ms;
            give(frame(Kind::kAudio, ms + ms * audio / 1000), now_ms);
            if (ms % 40 == 0) give(frame(Kind::kVideo, ms + ms * video / 1000, ms % gop_ms == 0), now_ms);
        }
    }
    std::vector<Check> ask() {
        return diagnose({health, tracks, counters, hls_fragment, published, gop_too_long, now_ms, unpublished_since_ms,
                         jumped_at_ms, 7, faults, outputs});
    }
    Check ask(std::string_view name) {
        for (Check& check : ask())
            if (check.name == name) return check;
        ADD_FAILURE() << "there is no check " << name;
        return {};
    }
    // Its verdict. A problem must come with advice, and anything else without.
    CheckVerdict verdict(std::string_view name) {
        const Check check = ask(name);
        EXPECT_EQ(check.advice.empty(), check.verdict == CheckVerdict::kOk || check.verdict == CheckVerdict::kUnknown)
            << name << ": " << check.text << ": " << check.advice;
        return check.verdict;
    }

    live::Health health;
    media::TrackSet tracks;
    live::StreamCounters counters;
    const live::InputFaults* faults = nullptr;
    std::optional<double> hls_fragment;
    bool published = true;
    bool gop_too_long = false;
    std::vector<StreamOutput> outputs;
    int64_t now_ms = kBegan;
    int64_t unpublished_since_ms = 0;
    int64_t jumped_at_ms = 0;
};

TEST_F(StreamDiagnosis, InputFaults) {
    EXPECT_EQ(verdict("input_faults"), CheckVerdict::kUnknown);
    live::InputFaults some("test");
    faults = &some;
    EXPECT_EQ(verdict("input_faults"), CheckVerdict::kOk);
    for (int i = 0; i < 3; ++i) some.add(live::InputFaults::kVideo, "a body of 1 byte");
    some.add(live::InputFaults::kCodec, "FLV sound format 12");
    now_ms = some.last_ms() + 5'000;
    EXPECT_EQ(verdict("input_faults"), CheckVerdict::kWarn);
    EXPECT_EQ(ask("input_faults").figure, 4);
    EXPECT_EQ(ask("input_faults").text,
              "dropped, because they cannot be used: 3 video, 1 codec; the last one 5 s ago: FLV sound format 12");
    now_ms += 600'000;
    EXPECT_EQ(verdict("input_faults"), CheckVerdict::kOk);
}

TEST_F(StreamDiagnosis, AGoodStreamIsGood) {
    const live::InputFaults none("test");
    hls_fragment = 2;
    faults = &none;
    play(120);
    for (const Check& check : ask()) EXPECT_EQ(check.verdict, CheckVerdict::kOk) << check.name << ": " << check.text;
    EXPECT_EQ(worst(ask()), CheckVerdict::kOk);
    EXPECT_NEAR(*ask("frame_rate").figure, 25, 0.1);
    EXPECT_NEAR(*ask("bitrate").figure, 60, 2);  // 75 frames of 100 bytes a second
    EXPECT_EQ(*ask("gop_length").figure, 2);
}

TEST_F(StreamDiagnosis, JustBegunIsUnknownNotBad) {
    for (const Check& check : ask())
        EXPECT_TRUE(check.verdict == CheckVerdict::kOk || check.verdict == CheckVerdict::kUnknown) << check.name;
    EXPECT_EQ(worst(ask()), CheckVerdict::kOk);
}

TEST_F(StreamDiagnosis, LongGroupsOfPictures) {
    hls_fragment = 4;
    play(60, 6000);
    EXPECT_EQ(verdict("gop_hls_fragment"), CheckVerdict::kWarn);
    EXPECT_EQ(verdict("gop_length"), CheckVerdict::kOk);
    hls_fragment = 6;
    EXPECT_EQ(verdict("gop_hls_fragment"), CheckVerdict::kOk);
    hls_fragment.reset();
    EXPECT_EQ(verdict("gop_hls_fragment"), CheckVerdict::kUnknown);
    gop_too_long = true;
    EXPECT_EQ(verdict("gop_cache"), CheckVerdict::kWarn);
}

TEST_F(StreamDiagnosis, NoKeyframe) {
    play(9, 1'000'000);
    EXPECT_EQ(verdict("keyframe_age"), CheckVerdict::kOk);
    now_ms += 2'000;
    EXPECT_EQ(verdict("keyframe_age"), CheckVerdict::kWarn);
    now_ms += 10'000;
    EXPECT_EQ(verdict("keyframe_age"), CheckVerdict::kBad);
    EXPECT_EQ(*ask("keyframe_age").figure, 21);
}

TEST_F(StreamDiagnosis, NoKeyframeAtAll) {
    for (int64_t ms = 0; ms < 25'000; ms += 40) give(frame(Kind::kVideo, ms), kBegan + ms);
    now_ms = kBegan + 25'000;
    EXPECT_EQ(verdict("keyframe_age"), CheckVerdict::kBad);
}

TEST_F(StreamDiagnosis, Drift) {
    play(100, 2000, 0, 5);
    EXPECT_EQ(verdict("audio_video_drift"), CheckVerdict::kWarn);
    EXPECT_NEAR(*ask("audio_video_drift").figure, 465, 60);
    EXPECT_EQ(verdict("clock_rate"), CheckVerdict::kOk);
    EXPECT_EQ(verdict("audio_video_offset"), CheckVerdict::kOk);
}

TEST_F(StreamDiagnosis, SlowerThanTheClock) {
    play(100, 2000, -100, -100);
    EXPECT_EQ(verdict("clock_rate"), CheckVerdict::kBad);
    EXPECT_NEAR(*ask("clock_rate").figure, -10, 0.5);
    EXPECT_EQ(verdict("audio_video_drift"), CheckVerdict::kOk);
}

TEST_F(StreamDiagnosis, ATrackStops) {
    play(20);
    for (int64_t ms = 20'040; ms < 27'000; ms += 40) give(frame(Kind::kVideo, ms, ms % 2000 == 0), kBegan + ms);
    EXPECT_EQ(verdict("audio_video_offset"), CheckVerdict::kBad);
}

TEST_F(StreamDiagnosis, BPictures) {
    for (int i = 0; i < 500; ++i) {
        Frame f = frame(Kind::kVideo, i * 40, i % 50 == 0);
        f.cts = media::from_ms(i % 50 == 0 ? 40 : i % 2 ? 80 : 0);
        give(f, kBegan + i * 40);
    }
    EXPECT_EQ(verdict("b_frames"), CheckVerdict::kWarn);
    EXPECT_NEAR(*ask("b_frames").figure, 48, 2);
}

TEST_F(StreamDiagnosis, Unsteady) {
    for (int64_t ms = 0; ms < 30'000; ms += 40) {
        const bool gap = ms > 20'000 && ms < 20'500;
        const size_t bytes = ms >= 10'000 && ms < 12'000 ? 10'000 : 100;
        if (!gap) give(frame(Kind::kVideo, ms, ms % 2000 == 0, bytes), kBegan + ms);
    }
    EXPECT_EQ(verdict("frame_rate"), CheckVerdict::kWarn);
    EXPECT_EQ(verdict("bitrate"), CheckVerdict::kWarn);
}

TEST_F(StreamDiagnosis, JumpsAndDrops) {
    now_ms += 5'000;
    counters.timeline_jumps = 3;
    jumped_at_ms = now_ms - 1000;
    counters.viewer_jumps = 4;
    counters.jumped_viewers = 2;
    EXPECT_EQ(verdict("timestamp_jumps"), CheckVerdict::kWarn);
    EXPECT_EQ(*ask("timestamp_jumps").figure, 3);
    EXPECT_EQ(verdict("viewer_drops"), CheckVerdict::kWarn);
    EXPECT_EQ(*ask("viewer_drops").figure, 4);
    EXPECT_NE(ask("viewer_drops").text.find("2 viewers"), std::string::npos);
    now_ms += 3'600'000;
    EXPECT_EQ(verdict("timestamp_jumps"), CheckVerdict::kOk);
}

TEST_F(StreamDiagnosis, HeadersAndCodecs) {
    tracks.tracks[0].header.reset();
    EXPECT_EQ(verdict("headers"), CheckVerdict::kBad);
    EXPECT_NE(ask("headers").text.find("video (H264)"), std::string::npos);
    EXPECT_EQ(verdict("codecs"), CheckVerdict::kOk);
    tracks.tracks[0].codec = Codec::kAv1;
    EXPECT_EQ(verdict("codecs"), CheckVerdict::kWarn);
    EXPECT_NE(ask("codecs").text.find("MPEG-TS"), std::string::npos);
}

TEST_F(StreamDiagnosis, HeadersAndCodecsOfEveryTrack) {
    Frame second = live::testing::header(Kind::kAudio, "b");
    second.track = 1;
    tracks.update(second);
    EXPECT_EQ(verdict("headers"), CheckVerdict::kOk);
    EXPECT_EQ(verdict("codecs"), CheckVerdict::kOk);
    tracks.tracks[2].header.reset();
    EXPECT_EQ(verdict("headers"), CheckVerdict::kBad);
    EXPECT_EQ(ask("headers").text, "no sequence header was received for audio 1 (AAC)");
    tracks.tracks[2].codec = Codec::kOpus;
    EXPECT_EQ(verdict("codecs"), CheckVerdict::kWarn);
    EXPECT_NE(ask("codecs").text.find("Opus in RTMP and FLV"), std::string::npos);
}

TEST_F(StreamDiagnosis, NobodyPublishes) {
    published = false;
    unpublished_since_ms = now_ms - 3000;
    EXPECT_EQ(verdict("publisher"), CheckVerdict::kBad);
    EXPECT_EQ(*ask("publisher").figure, 3);
    EXPECT_EQ(worst(ask()), CheckVerdict::kBad);
}

TEST_F(StreamDiagnosis, AnOutputThatIsRefusedIsBad) {
    using State = StreamOutput::State;
    play(10);
    EXPECT_EQ(verdict("outputs"), CheckVerdict::kOk);
    EXPECT_EQ(worst(ask()), CheckVerdict::kOk);
    outputs = {{"hls", {}, State::kFails, "its playlist would be that of a/b"},
               {"forward", "rtmp://h/a/b", State::kFails, "no answer"}};
    EXPECT_EQ(verdict("outputs"), CheckVerdict::kBad);
    EXPECT_EQ(ask("outputs").text, "hls: its playlist would be that of a/b; forward: to rtmp://h/a/b: no answer");
    EXPECT_EQ(ask("outputs").figure, 2);
    EXPECT_EQ(worst(ask()), CheckVerdict::kBad);
}

}  // namespace
}  // namespace service::api
