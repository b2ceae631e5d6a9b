#include "live/hub/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "live/fanout/live_log.h"
#include "live/hub/owner_testing.h"
#include "live/hub/registry.h"
#include "live/hub/testing.h"
#include "runtime/loop/clock.h"

namespace live {
namespace {

using testing::audio;
using testing::header;
using testing::Owner;
using testing::video;

struct Recorder : FrameSink {
    std::vector<std::string> seen;
    base::Ref<media::TrackSet> tracks;
    void on_tracks(const base::Ref<media::TrackSet>& changed) override {
        for (const media::Track& track : changed->tracks) {
            const media::Track* known = tracks ? tracks->find(track.kind, track.index) : nullptr;
            if (track.config() && (!known || known->revision != track.revision))
                seen.emplace_back(track.config()->payload.text());
        }
        tracks = changed;
    }
    void on_frame(const media::Frame& frame) override {
        seen.push_back(std::to_string(media::to_ms(frame.dts)) + " " + std::string(frame.payload.text()));
    }
    void on_publish() override { seen.push_back("publish"); }
    void on_unpublish() override { seen.push_back("unpublish"); }
};

base::Ref<Stream> make_stream(LiveOptions options = {}) {
    return base::make_ref<Stream>(nullptr, StreamKey{"v", "live", "s"}, options);
}

Publication publish(Stream& stream, Owner& owner, bool takeover = false) {
    auto publication = stream.acquire(owner, takeover);
    EXPECT_TRUE(publication) << publication.error().text();
    return publication ? std::move(*publication) : Publication();
}

std::string text(const LiveLog& log, uint64_t from) {
    return log.head() > from ? std::string(log.copy(from, log.head()).text()) : "";
}

TEST(Stream, HasOnePublisher) {
    auto stream = make_stream();
    Owner first, second;
    auto publication = publish(*stream, first);
    auto refused = stream->acquire(second, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kBusy);
    publication.end();
    EXPECT_FALSE(stream->published());
    EXPECT_GT(stream->unpublished_since_ms(), 0);
    EXPECT_TRUE(stream->acquire(second, false));
}

// kickoff_for_idle, and pulls on demand.
TEST(Stream, CountsPlayersOfFiles) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    const int64_t began_ms = stream->idle_since_ms();
    ASSERT_GT(began_ms, 0);
    stream->expect_file_players(1);
    EXPECT_EQ(stream->demand(), 0u) << "they have left";
    EXPECT_EQ(stream->idle_since_ms(), began_ms);
    stream->expect_file_players(runtime::now_ms() + 60'000);
    stream->expect_file_players(runtime::now_ms() + 10'000);
    EXPECT_EQ(stream->demand(), 1u) << "nobody knows how many";
    EXPECT_EQ(stream->idle_since_ms(), 0);
    {
        const PlayerLease one(stream, PlayerLease::Kind::kFetchesFiles),
            other(stream, PlayerLease::Kind::kFetchesFiles);
        EXPECT_EQ(stream->demand(), 2u) << "those that have a session are these";
        const PlayerLease waits(stream);
        EXPECT_EQ(stream->demand(), 3u);
    }
    EXPECT_EQ(stream->demand(), 1u);
}

TEST(Stream, CountsALeaseOnce) {
    auto stream = make_stream();
    PlayerLease lease(stream), none;
    PlayerLease moved = std::move(lease);
    EXPECT_EQ(stream->demand(), 1u);
    none = std::move(moved);
    EXPECT_EQ(stream->demand(), 1u);
    none.end();
    none.end();
    EXPECT_EQ(stream->demand(), 0u);
    EXPECT_GT(stream->idle_since_ms(), 0);
}

TEST(Stream, IsRevokedWithAReason) {
    auto stream = make_stream();
    stream->revoke("nobody has it", base::CloseReason::kOutputFailed);  // not published: nothing happens
    Owner owner;
    auto publication = publish(*stream, owner);
    stream->revoke("no origin takes it", base::CloseReason::kOutputFailed);
    EXPECT_EQ(owner.revoked, "no origin takes it");
    EXPECT_EQ(owner.reason, base::CloseReason::kOutputFailed);
    EXPECT_FALSE(stream->published());
    Recorder recorder;
    stream->subscribe(recorder);
    publication.publish(video(0, true));
    EXPECT_TRUE(recorder.seen.empty()) << "a revoked publication must not publish";
    stream->unsubscribe(recorder);
}

TEST(Stream, IsTakenOverFromADeadPublisherOrOnRequest) {
    for (bool takeover : {false, true}) {
        auto stream = make_stream();
        Owner first, second;
        auto old = publish(*stream, first);
        first.alive = takeover;
        auto now = publish(*stream, second, takeover);
        EXPECT_FALSE(first.revoked.empty());
        Recorder recorder;
        stream->subscribe(recorder);
        recorder.seen.clear();
        old.publish(video(0, true));
        EXPECT_TRUE(recorder.seen.empty()) << "a revoked publication must not publish";
        old.end();
        EXPECT_TRUE(stream->published()) << "the old publisher's end must not end the new one";
        now.publish(video(0, true));
        EXPECT_EQ(recorder.seen.size(), 1u);
        stream->unsubscribe(recorder);
    }
}

TEST(Stream, ALaterSinkGetsHeadersAndGop) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    publication.publish(header(media::Kind::kVideo, "VH"));
    publication.publish(header(media::Kind::kAudio, "AH"));
    publication.publish(video(0, true, "old"));
    publication.publish(video(40, false, "old"));
    publication.publish(video(80, true, "k"));
    publication.publish(audio(90));
    publication.publish(video(120));
    Recorder recorder;
    stream->subscribe(recorder);
    EXPECT_EQ(recorder.seen, (std::vector<std::string>{"publish", "VH", "AH", "80 k", "90 a", "120 v"}));
    stream->unsubscribe(recorder);
}

TEST(Stream, AHeldGopBeginsWhereItDid) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    publication.publish(header(media::Kind::kVideo, "VH"));
    publication.publish(video(0, true, "k"));
    stream->hold_gop(INT64_MAX);
    publication.publish(video(40, true, "k"));
    publication.publish(video(80));
    EXPECT_EQ(stream->gop().size(), 3u);
    stream->hold_gop(0);
    EXPECT_FALSE(stream->holds_gop());
    publication.publish(video(120, true, "k"));
    EXPECT_EQ(stream->gop().size(), 1u);
}

TEST(Stream, AHeldGopWithoutVideoBeginsWithTheNextFrame) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    publication.publish(header(media::Kind::kAudio, "AH"));
    publication.publish(audio(0));
    stream->hold_gop(INT64_MAX);
    for (int i = 1; i <= 200; ++i) publication.publish(audio(i * 100));
    ASSERT_EQ(stream->gop().size(), 200u) << "however much of audio is kept otherwise";
    stream->hold_gop(INT64_MAX);
    EXPECT_EQ(stream->gop().front().dts, media::from_ms(100)) << "it is held already";
}

struct WatchingRecorder : StreamWatcher {
    Recorder recorder;
    void stream_published(Stream& stream) override { stream.subscribe(recorder); }
    void stream_unpublished(Stream& stream) override {
        recorder.seen.push_back(stream.published() ? "?" : "unpublished");
    }
};

// Ends itself and another one with the first stream.
struct EndingWatcher : StreamWatcher {
    EndingWatcher(Registry& in, StreamWatcher* also) : registry(in), other(also) {}
    Registry& registry;
    StreamWatcher* other;
    int calls = 0;
    void stream_published(Stream&) override {
        ++calls;
        registry.unwatch(*this);
        if (other) registry.unwatch(*other);
    }
};

TEST(Registry, AWatcherMayEndItselfAndOthers) {
    Registry registry;
    EndingWatcher ended(registry, nullptr), first(registry, &ended), last(registry, nullptr);
    for (StreamWatcher* watcher :
         {static_cast<StreamWatcher*>(&first), static_cast<StreamWatcher*>(&ended), static_cast<StreamWatcher*>(&last)})
        registry.watch(*watcher);
    Owner owner;
    auto stream = registry.find_or_create({"v", "live", "s"}, {});
    auto publication = publish(*stream, owner);
    EXPECT_EQ(first.calls, 1);
    EXPECT_EQ(ended.calls, 0) << "it was ended before";
    EXPECT_EQ(last.calls, 1) << "none is skipped";
}

TEST(Registry, NotifiesWatchersOfAPublicationBeforeItsFirstFrame) {
    Registry registry;
    WatchingRecorder watcher;
    registry.watch(watcher);
    Owner owner;
    auto stream = registry.find_or_create({"v", "live", "s"}, {});
    auto publication = publish(*stream, owner);
    publication.publish(video(0, true, "a"));
    publication.end();
    EXPECT_EQ(watcher.recorder.seen, (std::vector<std::string>{"publish", "0 a", "unpublish", "unpublished"}));
    stream->unsubscribe(watcher.recorder);
    registry.unwatch(watcher);
    publication = publish(*stream, owner);
    EXPECT_EQ(watcher.recorder.seen.size(), 4u);
}

struct OneFrameOnly : FrameSink {
    Stream* stream = nullptr;
    int frames = 0;
    void on_tracks(const base::Ref<media::TrackSet>&) override {}
    void on_frame(const media::Frame&) override {
        ++frames;
        stream->unsubscribe(*this);
    }
};

TEST(Stream, ASinkMayUnsubscribeWithinAFrame) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    OneFrameOnly leaver;
    leaver.stream = stream.get();
    Recorder stayer;
    stream->subscribe(leaver);
    stream->subscribe(stayer);
    publication.publish(video(0, true, "a"));
    publication.publish(video(40, false, "b"));
    EXPECT_EQ(leaver.frames, 1);
    EXPECT_EQ(stayer.seen, (std::vector<std::string>{"publish", "0 a", "40 b"}));
    stream->unsubscribe(stayer);
}

TEST(Stream, ForgetsAGopThatIsTooLong) {
    LiveOptions options;
    options.gop_cache_max_frames = 3;
    auto stream = make_stream(options);
    Owner owner;
    auto publication = publish(*stream, owner);
    for (int i = 0; i < 4; ++i) publication.publish(video(i * 40, i == 0));
    EXPECT_TRUE(stream->gop().empty());
    publication.publish(video(160));
    EXPECT_TRUE(stream->gop().empty());
    publication.publish(video(200, true));
    EXPECT_EQ(stream->gop().size(), 1u);
}

// A frame of one byte keeps the whole block of memory that it was cut from: the bound of a GOP counts the block.
TEST(Stream, ForgetsAGopThatHoldsTooMuchMemory) {
    if (base::SliceBlock::kLargest == 0) GTEST_SKIP() << "with the address sanitizer frames share no memory";
    LiveOptions options;
    options.gop_cache_max_frames = 0;
    for (const bool one_block_each : {false, true}) {
        auto stream = make_stream(options);
        Owner owner;
        auto publication = publish(*stream, owner);
        publication.publish(video(0, true));
        base::SliceBlock block;
        size_t longest = 0;
        for (int i = 1; i <= 20'000; ++i) {
            base::SliceBuilder builder(block, 1);
            builder.append(uint8_t{'p'});
            if (one_block_each) block.reset();
            media::Frame frame = video(i);
            frame.payload = builder.freeze();
            publication.publish(std::move(frame));
            longest = std::max(longest, stream->gop().size());
        }
        if (one_block_each) {
            EXPECT_LT(longest, 18'000u) << "128 MB are not so many blocks of 8 kB";
            EXPECT_TRUE(stream->gop().empty());
        } else {
            EXPECT_EQ(stream->gop().size(), 20'001u);
        }
    }
}

// Repetitions go to players only: a sink has the tracks, and gets changes alone.
TEST(Stream, RepeatedHeadersGoOutUnlessReduced) {
    for (bool reduce : {false, true}) {
        LiveOptions options;
        options.reduce_sequence_header = reduce;
        auto stream = make_stream(options);
        Owner owner;
        auto publication = publish(*stream, owner);
        Recorder recorder;
        stream->subscribe(recorder);
        recorder.seen.clear();
        LiveLog& log = stream->log(testing::kAllText);
        publication.publish(header(media::Kind::kVideo, "VH"));
        publication.publish(header(media::Kind::kVideo, "VH"));
        publication.publish(header(media::Kind::kVideo, "VH2"));
        EXPECT_EQ(text(log, 0), reduce ? "[0 VH][0 VH2]" : "[0 VH][0 VH][0 VH2]");
        EXPECT_EQ(recorder.seen, (std::vector<std::string>{"VH", "VH2"}));
        stream->drop_log(log);
        stream->unsubscribe(recorder);
    }
}

// A second audio track has its share of frames, and no more.
TEST(Stream, TheGopOfSeveralTracksIsBounded) {
    LiveOptions options;
    options.gop_cache_max_frames = 100;
    auto stream = make_stream(options);
    Owner owner;
    auto publication = publish(*stream, owner);
    auto second = [](int64_t dts) {
        media::Frame frame = audio(dts);
        frame.track = 1;
        return frame;
    };
    publication.publish(video(0, true));
    publication.publish(audio(0));
    for (int64_t i = 0; i < 198; ++i) publication.publish(second(i));
    EXPECT_EQ(stream->gop().size(), 200u);
    publication.publish(second(200));
    EXPECT_TRUE(stream->gop().empty());
    EXPECT_TRUE(stream->gop_too_long());
}

// Sinks get all tracks, each with its header; a player's log begins at keyframes of the first video track.
TEST(Stream, SeveralTracksOfAKind) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    Recorder recorder;
    stream->subscribe(recorder);
    auto on_track = [](media::Frame frame, uint8_t track) {
        frame.track = track;
        return frame;
    };
    publication.publish(header(media::Kind::kVideo, "VH"));
    publication.publish(header(media::Kind::kAudio, "AH"));
    publication.publish(on_track(header(media::Kind::kAudio, "AH1"), 1));
    publication.publish(video(0, true, "v"));
    publication.publish(audio(0, "a"));
    publication.publish(on_track(audio(0, "b"), 1));
    publication.publish(on_track(video(20, true, "w"), 1));
    publication.publish(video(40, false, "x"));
    EXPECT_EQ(recorder.seen,
              (std::vector<std::string>{"publish", "VH", "AH", "AH1", "0 v", "0 a", "0 b", "20 w", "40 x"}));
    EXPECT_EQ(stream->counters().audio_frames, 1u) << "of the first track";
    EXPECT_EQ(stream->counters().video_frames, 2u);
    EXPECT_EQ(stream->gop().size(), 5u);
    LiveLog& log = stream->log(testing::kAllText);
    ASSERT_NE(log.newest_start(), nullptr);
    EXPECT_EQ(log.newest_start()->offset, 0u) << "a keyframe of another track is no start point";
    EXPECT_EQ(stream->tracks()->count(media::Kind::kAudio), 2u);
    // A later sink gets the same.
    Recorder late;
    stream->subscribe(late);
    EXPECT_EQ(late.seen, recorder.seen);
    publication.describe_tracks({{media::Kind::kAudio, 1, "deu", "Kommentar"}});
    EXPECT_EQ(late.tracks->find(media::Kind::kAudio, 1)->language, "deu");
    stream->drop_log(log);
    stream->unsubscribe(late);
    stream->unsubscribe(recorder);
}

TEST(Stream, TimelineGoesOnWithTheNextPublisher) {
    auto stream = make_stream();
    Owner owner;
    Recorder recorder;
    stream->subscribe(recorder);
    publish(*stream, owner).publish(video(1000, true));
    publish(*stream, owner).publish(video(0, true));
    EXPECT_EQ(recorder.seen,
              (std::vector<std::string>{"publish", "1000 v", "unpublish", "publish", "1040 v", "unpublish"}));
    stream->unsubscribe(recorder);
}

TEST(Stream, MixCorrectSortsTracksAndLosesNothingAtTheEnd) {
    LiveOptions options;
    options.mix_correct = true;
    auto stream = make_stream(options);
    Owner owner;
    Recorder recorder;
    stream->subscribe(recorder);
    auto publication = publish(*stream, owner);
    publication.publish(audio(0));
    publication.publish(video(0, true));
    publication.publish(video(40));
    publication.publish(audio(23));
    publication.end();
    EXPECT_EQ(recorder.seen, (std::vector<std::string>{"publish", "0 a", "0 v", "23 a", "40 v", "unpublish"}));
    stream->unsubscribe(recorder);
}

TEST(Stream, KeepsAbsoluteTimesWhereConfigured) {
    for (bool atc : {false, true}) {
        LiveOptions options;
        options.atc = atc;
        options.atc_auto = !atc;
        auto stream = make_stream(options);
        Owner owner;
        auto publication = publish(*stream, owner);
        if (!atc) publication.has_absolute_times();
        publication.publish(video(5'000'000, true));
        EXPECT_EQ(media::to_ms(stream->last_dts()), 5'000'000);
    }
}

TEST(LiveLog, BeginsWithTheGopAndItsHeaders) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    publication.publish(header(media::Kind::kVideo, "VH"));
    publication.publish(video(0, true));
    publication.publish(audio(20));
    LiveLog& log = stream->log(testing::kAllText);
    publication.publish(video(40));
    auto* start = log.start_for_new_viewer(0);
    ASSERT_NE(start, nullptr);
    EXPECT_EQ(log.prefix(*start, true).text(), "<FIRST 0 VH|->");
    EXPECT_EQ(log.prefix(*start, false).text(), "<0 VH|->");
    EXPECT_EQ(text(log, start->offset), "[0 v][20 a][40 v]");
    EXPECT_EQ(&stream->log(testing::kAllText), &log) << "one log for all viewers of a format";
}

TEST(LiveLog, FindsPacketsAndStarts) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    LiveLog& log = stream->log(testing::kAllText);
    publication.publish(video(0, true, "aa"));   // [0 aa]   6 bytes
    publication.publish(video(40, false, "b"));  // [40 b]   6 bytes
    publication.publish(video(80, true, "cc"));  // [80 cc]  7 bytes
    EXPECT_EQ(log.head(), 19u);
    EXPECT_EQ(log.packets().packet_end(0), 0u);
    EXPECT_EQ(log.packets().packet_end(1), 6u);
    EXPECT_EQ(log.packets().packet_end(6), 6u);
    EXPECT_EQ(log.packets().packet_end(13), 19u);
    EXPECT_EQ(log.packets().offset_at(media::from_ms(40)), 6u);
    EXPECT_EQ(log.packets().offset_at(media::from_ms(41)), 12u);
    EXPECT_EQ(log.packets().offset_at(media::from_ms(81)), 19u);
    EXPECT_EQ(log.next_start(1)->offset, 12u);
    EXPECT_EQ(log.next_start(13), nullptr);
    log.forget_starts();
    EXPECT_EQ(log.start_for_new_viewer(0), nullptr);
}

TEST(LiveLog, LagIsMeasuredByArrival) {
    auto stream = make_stream();
    LiveLog& log = stream->log(testing::kAllText);
    constexpr int64_t kNowUs = 1'000'000;
    log.append(video(0, true), stream->tracks(), kNowUs);          // 0 to 5
    log.append(video(60'000), stream->tracks(), kNowUs + 40'000);  // 5 to 14
    log.append(video(40), stream->tracks(), kNowUs + 80'000);      // 14 to 20
    EXPECT_EQ(log.packets().lag_limit(100), 0u);
    EXPECT_EQ(log.packets().lag_limit(80), 0u);
    EXPECT_EQ(log.packets().lag_limit(79), 5u);
    EXPECT_EQ(log.packets().lag_limit(39), 14u);
    EXPECT_EQ(log.packets().ms_behind(0), 80);
    EXPECT_EQ(log.packets().ms_behind(14), 0);
    EXPECT_EQ(log.packets().ms_behind(20), 0);
}

TEST(LiveLog, SpansBlocksWithoutSplittingPackets) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    LiveLog& log = stream->log(testing::kAllText);
    std::string expected;
    for (int i = 0; i < 40; ++i) {
        std::string payload(i == 20 ? 200'000 : 10'000, static_cast<char>('a' + i % 26));
        publication.publish(video(i * 40, i % 10 == 0, payload));
        expected += "[" + std::to_string(i * 40) + " " + payload + "]";
    }
    EXPECT_EQ(text(log, 0), expected);
    uint64_t third = log.next_start(1)->offset;
    log.trim(third);
    EXPECT_LE(log.tail(), third);
    EXPECT_GT(log.tail(), 0u);
    EXPECT_EQ(text(log, third), expected.substr(third));
    EXPECT_GE(log.next_start(0)->offset, log.tail());
}

TEST(LiveLog, AudioOnlyStreamsBeginAnywhereAndKeepTheirCache) {
    LiveOptions options;
    options.audio_cache_ms = 50;
    auto stream = make_stream(options);
    Owner owner;
    auto publication = publish(*stream, owner);
    for (int i = 0; i < 10; ++i) publication.publish(audio(i * 20));
    LiveLog& log = stream->log(testing::kAllText);
    publication.publish(audio(200));
    EXPECT_EQ(text(log, log.start_for_new_viewer(50)->offset), "[160 a][180 a][200 a]");
    EXPECT_EQ(text(log, log.start_for_new_viewer(0)->offset), "[200 a]");
}

TEST(LiveLog, AFilterLeavesOutTheOtherTrack) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    publication.publish(video(0, true));
    publication.publish(audio(10));
    EXPECT_EQ(text(stream->log(testing::kVideoText), 0), "[0 v]");
    LiveLog& audio_log = stream->log(testing::kAudioText);
    EXPECT_EQ(text(audio_log, 0), "[10 a]");
    EXPECT_EQ(audio_log.start_for_new_viewer(0)->offset, 0u) << "an audio format begins at any audio frame";
}

TEST(LiveLog, VideoThatPausesMakesItAudioOnly) {
    auto stream = make_stream();
    Owner owner;
    auto publication = publish(*stream, owner);
    LiveLog& log = stream->log(testing::kAllText);
    publication.publish(video(0, true));
    for (int t = 20; t <= 5'020; t += 100) publication.publish(audio(t));
    EXPECT_FALSE(stream->video_flows());
    ASSERT_NE(log.start_for_new_viewer(0), nullptr);
    EXPECT_EQ(media::to_ms(log.start_for_new_viewer(0)->dts), 5'020);
    publication.publish(video(5'040, true));
    EXPECT_EQ(media::to_ms(log.start_for_new_viewer(0)->dts), 5'040);
}

}  // namespace
}  // namespace live
