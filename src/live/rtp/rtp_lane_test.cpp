#include "live/rtp/rtp_lane.h"

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "live/hub/owner_testing.h"
#include "live/hub/stream.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace live {
namespace {

using testing::Owner;

constexpr int64_t kTickMs = runtime::TickWheel::kTickMs;

const RtpTrack kVideo{.kind = media::Kind::kVideo, .codec = media::Codec::kH264};
const RtpTrack kAudio{.kind = media::Kind::kAudio, .codec = media::Codec::kOpus, .clock_rate = 48'000};

// Reads as a player does, and records the calls.
struct Reader final : RtpSink {
    explicit Reader(RtpLane& to, RtpLane::Wants as = RtpLane::Wants::kPlay) : lane(to), wants(as) {
        next = lane.ring().end();
        lane.join(*this, wants);
    }
    ~Reader() { lane.leave(*this, wants); }
    bool on_packets(int64_t) override {
        ++calls;
        for (next = std::max(next, lane.ring().begin()); next < lane.ring().end(); ++next)
            seen += std::string(lane.ring().at(next).payload.text());
        if (also_leaves) lane.leave(*also_leaves, also_leaves->wants);
        if (leaves) lane.leave(*this, wants);
        return false;
    }
    void prefetch_needs() const override {}
    void on_tracks() override { seen += "<tracks>"; }
    void on_track_restart(size_t track) override { seen += "<restart " + std::to_string(track) + ">"; }
    void on_unpublish() override { seen += "<unpublish>"; }
    void on_stream_end() override {
        seen += "<end>";
        lane.leave(*this, wants);
    }
    RtpLane& lane;
    RtpLane::Wants wants;
    uint64_t next = 0;
    std::string seen;
    int calls = 0;
    bool leaves = false;
    Reader* also_leaves = nullptr;
};

struct Source : KeyframeSource {
    int requests = 0;
    void make_keyframe() override { ++requests; }
};

struct Watcher final : DemandWatcher {
    std::string seen;
    void demand_changed(Stream& stream) override {
        seen += std::string(stream.frames_wanted() ? "F" : "-") + (stream.rtp_wanted() ? "R " : "- ");
    }
};

struct NullSink : FrameSink {
    void on_tracks(const base::Ref<media::TrackSet>&) override {}
    void on_frame(const media::Frame&) override {}
};

class RtpLaneTest : public runtime::testing::RuntimeTest {
  protected:
    void put(size_t track, uint16_t sequence, uint32_t timestamp, const std::string& text, bool keyframe = false) {
        lane.append(track, {sequence, timestamp, false, keyframe},
                    {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, now_us);
    }
    const RtpPacket& last() const { return lane.ring().at(lane.ring().end() - 1); }
    // Lets the scheduler run.
    void settle() { time.settle(); }

    runtime::testing::SimulatedTime time;
    base::Ref<Stream> stream = base::make_ref<Stream>(nullptr, StreamKey{"v", "live", "s"}, LiveOptions{});
    RtpLane& lane = stream->rtp_lane();
    int64_t now_us = runtime::now_us();
};

TEST_F(RtpLaneTest, SinksAreCalledOnceForABurst) {
    lane.set_tracks({kVideo});
    Reader a(lane), b(lane);
    settle();
    a.calls = 0;
    for (uint16_t i = 0; i < 10; ++i) put(0, i, 100, std::to_string(i));
    EXPECT_EQ(a.calls, 0);
    settle();
    EXPECT_EQ(a.seen, "0123456789");
    EXPECT_EQ(b.seen, "0123456789");
    EXPECT_EQ(a.calls, 1);
}

TEST_F(RtpLaneTest, SinksMayRemoveThemselvesAndOthersWithinACall) {
    lane.set_tracks({kVideo});
    Reader a(lane), b(lane), c(lane), d(lane);
    settle();
    b.leaves = true;
    c.also_leaves = &a;
    put(0, 1, 100, "x");
    settle();
    EXPECT_EQ(lane.players(), 2u);
    put(0, 2, 100, "y");
    settle();
    EXPECT_EQ(b.seen, "x");
    EXPECT_EQ(c.seen, "xy");
    EXPECT_EQ(d.seen, "xy");
}

TEST_F(RtpLaneTest, NothingHoldsTheStreamAfterItsLastSink) {
    lane.set_tracks({kVideo});
    {
        Reader a(lane);
        settle();
    }
    settle();
    EXPECT_EQ(stream->ref_count(), 1u);
    Reader b(lane);
    put(0, 1, 1, "x");
    settle();
    EXPECT_EQ(b.seen, "x");
}

TEST_F(RtpLaneTest, ManySinksAllGetEverything) {
    lane.set_tracks({kVideo});
    std::vector<std::unique_ptr<Reader>> readers;
    for (int i = 0; i < 200; ++i) readers.push_back(std::make_unique<Reader>(lane));
    for (uint16_t i = 0; i < 10; ++i) {
        put(0, i, i, std::to_string(i));
        time.pass_ms(3);
        // Meanwhile some leave, from the front, the middle and the end.
        readers.erase(readers.begin() + i * 7);
    }
    time.pass_ms(25);
    for (auto& reader : readers) EXPECT_EQ(reader->seen, "0123456789");
}

TEST_F(RtpLaneTest, SequencesAreItsOwnAndUnwrapped) {
    lane.set_tracks({kVideo});
    put(0, 65'534, 1, "a");
    const uint64_t first = last().sequence;
    EXPECT_GT(first, 0u);
    put(0, 1, 1, "d");
    EXPECT_EQ(last().sequence, first + 3);
    put(0, 65'535, 1, "b");
    EXPECT_EQ(last().sequence, first + 1);
    EXPECT_TRUE(last().late);
    put(0, 2, 2, "e");
    EXPECT_EQ(last().sequence, first + 4);
    EXPECT_FALSE(last().late);
    EXPECT_EQ(lane.counters().late, 1u);
}

TEST_F(RtpLaneTest, SequencesGoOnOverManyWraps) {
    lane.set_tracks({kVideo});
    put(0, 0, 0, "a");
    const uint64_t first = last().sequence;
    for (uint32_t i = 1; i < 300'000; i += 7) {
        put(0, static_cast<uint16_t>(i), i, "p");
        ASSERT_EQ(last().sequence, first + i);
    }
    EXPECT_EQ(lane.counters().sequence_jumps, 0u);
}

// 6.6 hours of video are 2^31 ticks, 13.3 hours 2^32. There are no sender reports.
TEST_F(RtpLaneTest, TimesGoOnOverEachWrapOfTheTimestamps) {
    for (const RtpTrack& track : {kVideo, kAudio}) {
        lane.set_tracks({track});
        const int64_t rate = track.clock_rate;
        constexpr uint32_t kFirst = 0xfffff000;
        put(0, 0, kFirst, "p");
        const int64_t begin = lane.clock(0).moment(lane.ticks(0, last().timestamp));
        for (int64_t i = 1; i * 5 * rate < (int64_t{1} << 33) + 20 * rate; ++i) {
            now_us += 5'000'000;
            put(0, static_cast<uint16_t>(i), static_cast<uint32_t>(kFirst + i * 5 * rate), "p");
            const int64_t moment = lane.clock(0).moment(lane.ticks(0, last().timestamp));
            ASSERT_EQ(moment - begin, i * 5'000'000) << "after " << i * 5 << " s";
            ASSERT_EQ(lane.clock(0).at(moment), lane.ticks(0, last().timestamp));
        }
        EXPECT_EQ(lane.counters().timestamp_jumps, 0u);
    }
}

// With reports, of which the last is hours old.
TEST_F(RtpLaneTest, TimesGoOnOverTheWrapsAfterTheLastReport) {
    lane.set_tracks({kVideo});
    put(0, 0, 0x7fff0000, "p");
    lane.set_clock(0, 100'000'000, 0x7fff0000);
    const int64_t begin = lane.clock(0).moment(lane.ticks(0, 0x7fff0000));
    for (int64_t i = 1; i < 12'000; ++i) {
        now_us += 5'000'000;
        put(0, static_cast<uint16_t>(i), static_cast<uint32_t>(0x7fff0000 + i * 450'000), "p");
        ASSERT_EQ(lane.clock(0).moment(lane.ticks(0, last().timestamp)) - begin, i * 5'000'000);
    }
    lane.set_clock(0, 100'000'000 + int64_t{11'999} * 5'000'000,
                   static_cast<uint32_t>(0x7fff0000 + 11'999ll * 450'000));
    EXPECT_EQ(lane.clock(0).moment(lane.ticks(0, last().timestamp)) - begin, int64_t{11'999} * 5'000'000);
}

// Whatever a publisher writes, the lane's times follow those of arrival, give or take.
TEST_F(RtpLaneTest, JumpsOfTimestampsAreRemoved) {
    lane.set_tracks({kVideo});
    uint32_t published = 5000;
    uint16_t sequence = 0;
    // How far the lane's time advances when the publisher's does so.
    int64_t before = 0;
    auto step = [&](int64_t by, int64_t after_us) {
        now_us += after_us;
        published += static_cast<uint32_t>(by);
        put(0, sequence++, published, "p");
        return lane.ticks(0, last().timestamp) - std::exchange(before, lane.ticks(0, last().timestamp));
    };
    (void)step(0, 0);
    EXPECT_EQ(step(3600, 40'000), 3600);
    for (int64_t jump : {0x7fffffffll, 0x80000000ll, 0x80000001ll, 903'601ll, -900'001ll, 0xc0000000ll}) {
        EXPECT_EQ(step(jump, 40'000), 3600) << jump;
        EXPECT_EQ(step(3000, 40'000), 3000) << "and continues from there as published";
    }
    EXPECT_EQ(lane.counters().timestamp_jumps, 6u);
    EXPECT_EQ(step(0x40000000, 0), 900) << "a burst of jumps does not stand still either";
    EXPECT_EQ(lane.counters().timestamp_jumps, 7u);
    // Nine seconds ahead, or behind, are accepted; and an hour after an hour.
    EXPECT_EQ(step(810'000, 0), 810'000);
    EXPECT_EQ(step(-810'000, 0), -810'000);
    EXPECT_EQ(step(3600 * 90'000, 3'600'000'000), 3600 * 90'000);
    EXPECT_EQ(lane.counters().timestamp_jumps, 7u);
    // One that was silent for longer than its numbers take to wrap.
    for (int64_t hours : {7, 14, 20, 40})
        EXPECT_EQ(step(hours * 3600 * 90'000, hours * 3'600'000'000), hours * 3600 * 90'000) << hours;
}

TEST_F(RtpLaneTest, AnotherSourceOfATrackGoesOnInSequenceAndTime) {
    Source source;
    lane.set_keyframe_source(&source);
    lane.set_tracks({kVideo, kAudio});
    Reader reader(lane);
    put(0, 10, 5000, "k", true);
    put(0, 11, 8000, "p");
    put(1, 3, 7, "s");
    lane.set_clock(0, 100'000'000, 8000);
    const RtpPacket before = lane.ring().at(lane.ring().begin() + 1);
    const int64_t moment = lane.clock(0).moment(lane.ticks(0, before.timestamp));
    now_us += 400'000;
    lane.restart_track(0);
    EXPECT_FALSE(lane.ring().newest_keyframe()) << "no player begins with packets of the old source";
    put(0, 40'000, 0xffffff00, "P");
    EXPECT_EQ(last().sequence, before.sequence + 1);
    EXPECT_EQ(last().timestamp, 8000u + 36'000);
    EXPECT_EQ(lane.clock(0).moment(lane.ticks(0, last().timestamp)) - moment, 400'000);
    EXPECT_TRUE(lane.clock(0).exact);
    // A late packet of the new source does not get a number of the old one.
    put(0, 39'999, 0xfffffe00, "late");
    EXPECT_EQ(last().payload.text(), "P");
    put(0, 40'001, 0xffffff00 + 3000, "Q", true);
    EXPECT_EQ(last().sequence, before.sequence + 2);
    EXPECT_EQ(last().timestamp, 8000u + 39'000);
    ASSERT_TRUE(lane.ring().newest_keyframe());
    put(1, 4, 967, "t");
    settle();
    EXPECT_EQ(reader.seen, "<restart 0>kpsPQt");
    EXPECT_EQ(lane.counters().restarts, 1u);
}

TEST_F(RtpLaneTest, ARestartAsksForAKeyframeAtOnce) {
    Source source;
    lane.set_keyframe_source(&source);
    lane.set_tracks({kVideo});
    lane.request_keyframe(now_us / 1000);
    lane.restart_track(0);  // before its first packet
    lane.request_keyframe(now_us / 1000 + 1);
    EXPECT_EQ(source.requests, 2);
    put(0, 1, 1, "k", true);
    EXPECT_GT(last().sequence, 1u);
}

TEST_F(RtpLaneTest, ARestartIsExactWhereItsMomentIsKnown) {
    lane.set_tracks({kVideo});
    put(0, 1, 1000, "a", true);
    // Without a clock of the first source its moment says nothing.
    now_us += 40'000;
    lane.restart_track(0, 5'000'000);
    put(0, 9, 70'000, "b", true);
    EXPECT_EQ(last().timestamp, 1000u + 3600);
    lane.set_clock(0, 5'000'000, 70'000);
    // 40 ms later by its clock, but it took 60 ms more.
    now_us += 100'000;
    lane.restart_track(0, 5'040'000);
    put(0, 500, 1, "c", true);
    EXPECT_EQ(last().timestamp, 1000u + 3600 + 3600);
    // A moment before the last one, and one that its arrival contradicts.
    lane.restart_track(0, 5'040'000);
    put(0, 700, 1, "d", true);
    EXPECT_EQ(last().timestamp, 1000u + 3600 + 3600 + 900);
    now_us += 20'000;
    lane.restart_track(0, 5'000'000 + 60'000'000);
    put(0, 900, 1, "e", true);
    EXPECT_EQ(last().timestamp, 1000u + 3600 + 3600 + 900 + 1800);
}

TEST_F(RtpLaneTest, TheLastExpectationCounts) {
    Source one, two;
    EXPECT_TRUE(lane.expected_tracks().empty());
    lane.expect(&one, {kVideo});
    lane.expect(&two, {kVideo, kAudio});
    lane.expect_no_more(&one);
    EXPECT_EQ(lane.expected_tracks().size(), 2u);
    EXPECT_TRUE(lane.tracks().empty());
    lane.expect_no_more(&two);
    EXPECT_TRUE(lane.expected_tracks().empty());
}

TEST_F(RtpLaneTest, APacketReorderedBeforeTheFirstIsAccepted) {
    lane.set_tracks({kVideo});
    put(0, 5, 1, "second");
    put(0, 4, 1, "first");
    EXPECT_EQ(lane.ring().packets(), 2u);
    EXPECT_EQ(last().sequence + 1, lane.ring().at(0).sequence);
}

TEST_F(RtpLaneTest, ADuplicateIsIgnored) {
    lane.set_tracks({kVideo});
    put(0, 1, 1, "a");
    put(0, 2, 1, "b");
    put(0, 2, 1, "b");
    put(0, 1, 1, "a");
    EXPECT_EQ(lane.ring().packets(), 2u);
}

TEST_F(RtpLaneTest, AJumpOfThePublishersNumbersIsNoLoss) {
    lane.set_tracks({kVideo});
    put(0, 1, 1, "a");
    const uint64_t before = last().sequence;
    put(0, 30'000, 1, "b");
    EXPECT_EQ(last().sequence, before + 1);
    put(0, 30'001, 1, "c");
    EXPECT_EQ(last().sequence, before + 2);
    EXPECT_EQ(lane.counters().sequence_jumps, 1u);
}

TEST_F(RtpLaneTest, ANumberThatTheRingHasForgottenIsNotUsedAgain) {
    for (const uint16_t first : {uint16_t{10}, uint16_t{65'530}}) {  // the numbers wrap meanwhile
        lane.set_tracks({kVideo});
        for (uint16_t i = 0; i < 40; ++i) {
            put(0, static_cast<uint16_t>(first + i), i, "p");
            now_us += 100'000;
        }
        ASSERT_GT(lane.ring().begin(), 10u);
        const uint64_t end = lane.ring().end();
        for (uint16_t i = 0; i < 40; ++i) put(0, static_cast<uint16_t>(first + i), i, "other");
        EXPECT_EQ(lane.ring().end(), end);
    }
    EXPECT_EQ(lane.counters().refused, 80u);
}

// The packet that came last has the lowest number, and is the only one that the ring still has.
TEST_F(RtpLaneTest, ALatePacketDoesNotMakeNumbersFreeThatWereUsedBeforeIt) {
    lane.set_tracks({kVideo});
    for (uint16_t sequence : {10, 12, 13}) put(0, sequence, 1, "p");
    now_us += 1'900'000;
    put(0, 11, 1, "late");
    now_us += 300'000;
    put(0, 14, 2, "p");
    ASSERT_EQ(lane.ring().packets(), 2u);
    for (uint16_t sequence : {10, 11, 12, 13, 14}) put(0, sequence, 1, "other");
    EXPECT_EQ(lane.ring().packets(), 2u);
    EXPECT_EQ(lane.counters().refused, 5u);
}

// 128 slots: both numbers have the same one.
TEST_F(RtpLaneTest, ANumberInTheRingIsNotUsedAgainAfterAGap) {
    lane.set_tracks({kVideo});
    for (uint16_t sequence : {10, 10 + 128, 10 + 2 * 128}) put(0, sequence, 1, "p");
    put(0, 10, 1, "other");
    put(0, 11, 1, "was missing");
    EXPECT_EQ(lane.counters().refused, 1u);
    EXPECT_EQ(last().payload.text(), "was missing");
}

TEST_F(RtpLaneTest, APacketOlderThanWhatTheRingHasIsRefused) {
    lane.set_tracks({kVideo});
    for (uint16_t sequence : {10, 12, 13}) put(0, sequence, 1, "p");
    now_us += 2'500'000;
    put(0, 14, 2, "p");
    put(0, 11, 1, "was missing");
    EXPECT_EQ(last().payload.text(), "p");
    EXPECT_EQ(lane.counters().refused, 1u);
}

TEST_F(RtpLaneTest, PacketsFromBeforeAJumpOfThePublishersNumbersAreRefused) {
    lane.set_tracks({kVideo});
    for (uint16_t sequence : {10, 12, 30'000}) put(0, sequence, 1, "p");
    put(0, 29'999, 1, "would get a number of the other numbering");
    put(0, 29'998, 1, "would get the one of 11");
    EXPECT_EQ(lane.ring().packets(), 3u);
    put(0, 30'002, 1, "p");
    put(0, 30'001, 1, "late");
    EXPECT_EQ(lane.ring().packets(), 5u);
}

// Publishers with both kinds, and with audio alone between them.
TEST_F(RtpLaneTest, AKindThatAPublisherLeavesOutGoesOnInItsNumbers) {
    lane.set_tracks({kVideo, kAudio});
    for (uint16_t sequence : {1, 2, 3}) put(0, sequence, 1, "v");
    const uint64_t sequence = last().sequence;
    lane.set_tracks({kAudio});
    lane.set_tracks({});
    lane.set_tracks({kAudio, kVideo});
    put(1, 1, 1, "v");
    EXPECT_GT(last().sequence, sequence);
}

// Whatever a publisher does with its numbers, and whatever follows it: what a lane calls n is one packet.
TEST_F(RtpLaneTest, ANumberIsOnePacketsForEver) {
    std::mt19937 random(1);
    auto below = [&](uint32_t n) { return random() % n; };
    std::set<std::pair<media::Kind, uint64_t>> used;
    lane.set_tracks({kVideo, kAudio});
    uint32_t published[2] = {65'000, 100};
    for (int i = 0; i < 200'000; ++i) {
        const size_t track = below(lane.tracks().size());
        const uint32_t what = below(1000);
        if (what == 0) lane.restart_track(track);
        if (what == 1) lane.set_tracks(below(2) ? std::vector{kVideo, kAudio} : std::vector{kAudio});
        if (what == 2) published[track] += below(65'536);
        const uint32_t back = below(8) == 0 ? below(below(4) == 0 ? 4000 : 100) : 0;
        published[track] += back == 0 ? 1 + (below(50) == 0 ? below(3000) : 0) : 0;
        now_us += below(100) == 0 ? 300'000 : 1000;
        const uint64_t end = lane.ring().end();
        put(track % lane.tracks().size(), static_cast<uint16_t>(published[track] - back), published[track], "p");
        if (lane.ring().end() == end) continue;
        const media::Kind kind = lane.tracks()[last().track].kind;
        ASSERT_TRUE(used.emplace(kind, last().sequence).second) << i;
    }
    EXPECT_GT(used.size(), 100'000u);
    EXPECT_GT(lane.counters().late, 1000u);
    EXPECT_GT(lane.counters().refused, 1000u);
    EXPECT_GT(lane.counters().sequence_jumps, 10u);
}

// Many sinks, and audio in packets of that length.
class RtpLaneRideTest : public RtpLaneTest {
  protected:
    void begin(int ptime_ms, bool video = true) {
        RtpTrack audio = kAudio;
        audio.ptime_ms = ptime_ms;
        lane.set_tracks(video ? std::vector{audio, kVideo} : std::vector{audio});
        for (size_t i = 0; i < 50; ++i) readers.push_back(std::make_unique<Reader>(lane));
    }
    void put_audio() { put(0, ++sequence, 1, "s"); }
    // How much of the audio the readers have just before kMaxAudioWaitMs is over.
    std::string seen_before_the_ride_ends() {
        time.pass_ms(25);  // the round of the joins is over
        time.pass_ms(kTickMs - runtime::now_ms() % kTickMs);
        for (auto& reader : readers) reader->seen.clear();
        put_audio();
        time.pass_ms(RtpLane::kMaxAudioWaitMs - 1);
        return readers.back()->seen;
    }

    std::vector<std::unique_ptr<Reader>> readers;
    uint16_t sequence = 0;
};

TEST_F(RtpLaneRideTest, LongAudioPacketsWaitForAVideoFrame) {
    begin(RtpLane::kMinPtimeToWaitMs);
    EXPECT_EQ(seen_before_the_ride_ends(), "");
    const int calls = readers[0]->calls;
    put(1, 1, 1, "p");
    time.settle();
    EXPECT_EQ(readers[0]->seen, "sp");
    EXPECT_EQ(readers[0]->calls, calls + 1);
    // No video frame comes: the audio goes alone.
    put_audio();
    time.pass_ms(RtpLane::kMaxAudioWaitMs - 1);
    EXPECT_EQ(readers[0]->seen, "sp");
    time.pass_ms(1 + kTickMs);
    for (auto& reader : readers) EXPECT_EQ(reader->seen, "sps");
}

TEST_F(RtpLaneRideTest, ShortAudioPacketsDoNotWait) {
    begin(20);
    EXPECT_EQ(seen_before_the_ride_ends(), "s");
}

TEST_F(RtpLaneRideTest, AudioDoesNotWaitWithoutVideo) {
    begin(RtpLane::kMinPtimeToWaitMs, false);
    EXPECT_EQ(seen_before_the_ride_ends(), "s");
}

TEST_F(RtpLaneTest, AnotherPublisherGoesOnInSequenceAndTime) {
    lane.set_tracks({kVideo, kAudio});
    put(0, 100, 5000, "v");
    const uint64_t sequence = last().sequence;
    Reader reader(lane);
    // The next one has its tracks in the other order.
    lane.set_tracks({kAudio, kVideo});
    EXPECT_EQ(lane.ring().packets(), 0u);
    now_us += 2'000'000;
    put(1, 7, 999'999, "v");
    EXPECT_GT(last().sequence, sequence);
    EXPECT_EQ(last().timestamp, 5000u + 180'000);
    put(1, 8, 999'999 + 3000, "v");
    EXPECT_EQ(last().timestamp, 5000u + 183'000);
    EXPECT_EQ(reader.seen, "<tracks>");
}

TEST_F(RtpLaneTest, KeyframeRequestsAreMerged) {
    Source source;
    lane.set_keyframe_source(&source);
    lane.set_tracks({kVideo});
    for (int i = 0; i < 100; ++i) lane.request_keyframe(1000 + i);
    EXPECT_EQ(source.requests, 1);
    EXPECT_EQ(lane.counters().keyframe_requests, 100u);
    lane.tick(1000 + RtpLane::kKeyframeEveryMs - 1);
    EXPECT_EQ(source.requests, 1);
    // None came: it is requested again, once.
    lane.tick(1000 + RtpLane::kKeyframeEveryMs);
    EXPECT_EQ(source.requests, 2);
    put(0, 1, 1, "k", true);
    lane.tick(1000 + 5 * RtpLane::kKeyframeEveryMs);
    EXPECT_EQ(source.requests, 2);
}

TEST_F(RtpLaneTest, WithoutASourceARequestWaits) {
    lane.set_tracks({kVideo});
    lane.request_keyframe(1000);
    Source source;
    lane.set_keyframe_source(&source);
    lane.tick(1001);
    EXPECT_EQ(source.requests, 1);
}

TEST_F(RtpLaneTest, TheTracksClocksAreOne) {
    lane.set_tracks({kVideo, kAudio});
    put(0, 1, 90'000, "v");
    put(1, 1, 480'000, "a");
    EXPECT_FALSE(lane.clock(0).exact);
    const uint32_t guessed = lane.clock(0).version;
    // The publisher's clock says 100 s at the video's 90,000 and at the audio's 480,000 - 24,000.
    lane.set_clock(0, 100'000'000, 90'000);
    lane.set_clock(1, 100'500'000, 480'000);
    EXPECT_TRUE(lane.clock(0).exact);
    EXPECT_NE(lane.clock(0).version, guessed);
    EXPECT_EQ(lane.clock(1).moment(480'000) - lane.clock(0).moment(90'000), 500'000);
    EXPECT_EQ(lane.clock(0).at(lane.clock(0).moment(90'000) + 1'000'000), 180'000u);
    EXPECT_NEAR(static_cast<double>(lane.clock(0).moment(90'000)), static_cast<double>(base::wall_ms()) * 1000, 5e6);
}

TEST_F(RtpLaneTest, TheNewestReportCounts) {
    lane.set_tracks({kVideo, kAudio});
    put(1, 1, 480'000, "a");
    lane.set_clock(1, 100'000'000, 480'000);
    const int64_t first = lane.clock(1).moment(480'000);
    const uint32_t version = lane.clock(1).version;
    lane.set_clock(1, 101'040'000, 528'000);  // 40 ms late
    EXPECT_EQ(lane.clock(1).moment(480'000) - first, 40'000);
    lane.set_clock(1, 102'000'000, 576'000);
    EXPECT_EQ(lane.clock(1).moment(480'000), first);
    EXPECT_EQ(lane.clock(1).version, version);
}

TEST_F(RtpLaneTest, DemandChangesAreReportedBothWays) {
    Watcher watcher;
    stream->watch_demand(watcher);
    {
        Reader bridge(lane, RtpLane::Wants::kConvert);
        EXPECT_EQ(watcher.seen, "");
        Reader a(lane);
        Reader b(lane);
        EXPECT_EQ(watcher.seen, "-R ");
        EXPECT_EQ(stream->viewer_count(), 2u);
        EXPECT_EQ(stream->idle_since_ms(), 0);
    }
    EXPECT_EQ(watcher.seen, "-R -- ");
    EXPECT_GT(stream->idle_since_ms(), 0);
    NullSink sink;
    stream->subscribe(sink);
    stream->unsubscribe(sink);
    EXPECT_EQ(watcher.seen, "-R -- F- -- ");
    stream->unwatch_demand(watcher);
}

TEST_F(RtpLaneTest, APublishersEndIsReported) {
    Owner owner;
    Source source;
    auto publication = stream->acquire(owner, false);
    ASSERT_TRUE(publication);
    lane.set_tracks({kVideo});
    lane.set_keyframe_source(&source);
    Reader reader(lane);
    publication->end();
    EXPECT_EQ(reader.seen, "<unpublish>");
    lane.request_keyframe(1000);
    EXPECT_EQ(source.requests, 0);
    stream->end_viewers();
    EXPECT_EQ(reader.seen, "<unpublish><end>");
    EXPECT_EQ(lane.players(), 0u);
}

}  // namespace
}  // namespace live
