#include "convert/segments/variant_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

namespace convert {
namespace {

using namespace std::chrono_literals;
using media::from_ms;
using media::Time;
using Member = VariantClock::Member;

class VariantClockTest : public testing::Test {
  protected:
    // A stream that is published, and has frames, at that moment; its times begin with `dts`.
    Member join(int64_t at_ms, Time dts = 0ms, int64_t first_frame_ms = -1) {
        Member member(clock_, at_ms);
        member.set_offset(dts, dts + 300ms, (first_frame_ms < 0 ? at_ms : first_frame_ms) + 300);
        return member;
    }
    // Segments of the fragment's length, from that number and shared time on.
    static void segments(Member& member, uint64_t first, Time start, int count) {
        for (int i = 0; i < count; ++i) {
            member.arrived(start + i * 2s, arrival(start + i * 2s));
            member.begin_segment({first + static_cast<uint64_t>(i), 0, 2, 1'000}, start + i * 2s);
        }
    }
    static int64_t arrival(Time shared) { return media::to_ms(shared); }

    const std::shared_ptr<VariantClock> clock_ = std::make_shared<VariantClock>(2s);
};

TEST_F(VariantClockTest, TheFirstStreamsTimesAreTheGroups) {
    const Member first = join(5'000, 70s);
    EXPECT_EQ(first.shared(71s), Time(71s));
    EXPECT_FALSE(first.position_at(71s));
}

TEST_F(VariantClockTest, RenditionsOfOneEncoderHaveEqualTimes) {
    const Member first = join(0);
    const Member second = join(400, 40ms, 2'500);  // its encoder looks ahead, and its frames come later
    EXPECT_EQ(second.shared(1s), Time(1s));
    const Member third = join(2'000);
    EXPECT_EQ(third.shared(1s), Time(3s)) << "published later, from 0 again: by its arrival";
    Member late = join(60'000, 60'100ms);
    EXPECT_EQ(late.shared(61s), Time(61s)) << "its times are what the first one's offset lets expect";
}

TEST_F(VariantClockTest, OthersArePlacedByTheirArrival) {
    const Member first = join(0);
    const Member second = join(7'300);
    EXPECT_EQ(second.shared(0s), Time(7'300ms));
    // Frames that waited come at once: the newest ones count.
    Member third(clock_, 20'000);
    third.set_offset(0s, 1'900ms, 20'000);
    EXPECT_EQ(third.shared(1'900ms), Time(20s));
}

TEST_F(VariantClockTest, WhoJoinsTakesTheNumberOfThatTime) {
    Member first = join(0);
    segments(first, 100, 0s, 4);
    Member second = join(5'000);
    const std::pair<Time, uint64_t> cases[] = {{0s, 100}, {1'999ms, 101}, {1'800ms, 100},
                                               {5s, 102}, {60s, 103},     {-9s, 100}};
    for (const auto& [time, number] : cases) {
        ASSERT_TRUE(second.position_at(time));
        EXPECT_EQ(second.position_at(time)->sequence, number) << media::to_ms(time);
    }
    EXPECT_EQ(second.position_at(5s)->date_ms, 2'000) << "of that time, and not of the segment's start";
    EXPECT_FALSE(first.position_at(5s)) << "the other one has no segment yet";
}

TEST_F(VariantClockTest, SegmentsEndTogether) {
    Member first = join(0), second = join(100);
    segments(first, 7, 0s, 2);  // 7 at 0 s, 8 at 2 s
    EXPECT_FALSE(second.ends_before(7, 1'800ms));
    EXPECT_TRUE(second.ends_before(7, 1'900ms)) << "times are rounded";
    EXPECT_TRUE(second.ends_before(7, 3s));
    EXPECT_FALSE(second.ends_before(8, 9s)) << "nobody has ended it";
    EXPECT_FALSE(second.ends_before(3, 9s)) << "it is far behind";
    // The first one to begin a segment says where it begins.
    segments(second, 8, 2'040ms, 1);
    EXPECT_TRUE(first.ends_before(7, 2s));
    segments(second, 9, 4'200ms, 1);
    EXPECT_FALSE(first.ends_before(8, 4s));
    EXPECT_TRUE(first.ends_before(8, 4'200ms));
}

// Who joins may begin a segment of which another one has begun the next.
TEST_F(VariantClockTest, WhoIsBehindIsNotTheFirstToBegin) {
    Member first = join(0), second = join(100);
    segments(first, 7, 0s, 3);
    segments(second, 8, 3s, 1);
    EXPECT_TRUE(second.ends_before(8, 4s)) << "the first one has ended it";
    EXPECT_TRUE(first.ends_before(7, 2s));
}

TEST_F(VariantClockTest, OthersAreNotCutShort) {
    Member first = join(0), second = join(100);
    segments(first, 0, 0s, 2);
    segments(second, 1, 2s, 1);
    for (uint64_t number = 2; number < 50; ++number)
        segments(second, number, 2s + from_ms(static_cast<int64_t>(number)) * 20, 1);
    EXPECT_FALSE(first.ends_before(1, 4s)) << "each of less than half a fragment counts for nothing";
}

// As where the video begins with one size, and goes on with another at once.
TEST_F(VariantClockTest, WhoIsAloneHasSegmentsAsItLikes) {
    Member first = join(0);
    segments(first, 0, 0s, 1);
    segments(first, 1, 20ms, 1);
    segments(first, 2, 60ms, 3);
    Member second = join(3'000);
    ASSERT_TRUE(second.position_at(3s));
    EXPECT_EQ(second.position_at(3s)->sequence, 3u);
    segments(second, 3, 3s, 1);
    EXPECT_TRUE(second.ends_before(3, 4'060ms));
}

TEST_F(VariantClockTest, WhoseTimesJumpHasNoEffect) {
    Member first = join(0), second = join(100);
    segments(first, 0, 0s, 2);
    second.arrived(1h, arrival(3s));
    second.begin_segment({2, 0, 2, 0}, 1h);
    segments(first, 2, 4s, 1);
    EXPECT_TRUE(second.ends_before(1, 4s)) << "the first one's is known";
    EXPECT_EQ(second.position_at(5s)->sequence, 2u);
}

TEST_F(VariantClockTest, NumbersThatHaveNothingToDoWithThoseOfOthersAreNotTaken) {
    Member first = join(0), second = join(100);
    segments(first, 0, 0s, 2);
    segments(second, 900, 2s, 1);
    EXPECT_EQ(second.position_at(3s)->sequence, 1u);
    // But where all others stay silent.
    segments(second, 901, 200s, 2);
    EXPECT_EQ(first.position_at(202s)->sequence, 902u);
}

TEST_F(VariantClockTest, ThereIsAnEndToWhatIsRemembered) {
    Member first = join(0);
    segments(first, 0, 0s, 200);
    const Member second = join(1);
    EXPECT_EQ(second.position_at(0s)->sequence, 200 - VariantClock::kMaxStarts);
}

TEST_F(VariantClockTest, AGroupThatAllHaveLeftBeginsAnew) {
    {
        Member first = join(0);
        segments(first, 0, 0s, 4);
    }
    Member again = join(30'000);
    EXPECT_EQ(again.shared(1s), Time(1s));
    EXPECT_FALSE(again.position_at(0s));
    segments(again, 4, 0s, 1);
    Member second = join(30'100);
    EXPECT_EQ(second.position_at(1s)->sequence, 4u);
    Member moved = std::move(second);
    EXPECT_EQ(moved.position_at(1s)->sequence, 4u);
    EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move)
}

// ---- An hour

// An encoder with a keyframe each second, as an Output cuts its stream: in segments of 2 s.
struct Encoder {
    static constexpr Time kGop = 1s, kFragment = 2s, kSlack = 100ms;

    void start(const std::shared_ptr<VariantClock>& clock, int64_t at_ms, Time first_dts) {
        member = Member(clock, at_ms);
        began_ms = at_ms;
        next_dts = first_dts;
        member.set_offset(first_dts, first_dts + 300ms, at_ms + 300);
        has_segment = false;
        keyframes = 0;
    }
    // Its clock is fast by so much.
    int64_t due_ms() const {
        return began_ms + static_cast<int64_t>(static_cast<double>(1'000 * keyframes) / (1 + ppm * 1e-6));
    }
    void keyframe(int64_t late_ms) {
        const Time at = member.shared(next_dts);
        member.arrived(at, due_ms() + late_ms);
        next_dts += kGop;
        ++keyframes;
        if (!has_segment) {
            if (const auto position = member.position_at(at)) number = std::max(number + 1, position->sequence);
        } else if (at - segment + kSlack >= kFragment || at < segment || member.ends_before(number, at)) {
            ++number;
            begins[number] = at;
        } else {
            return;
        }
        has_segment = true;
        segment = at;
        member.begin_segment({number, 0, 2, 1}, at);
    }

    double ppm = 0;
    Member member{};
    int64_t began_ms = 0, keyframes = 0;
    Time next_dts{}, segment{};
    bool has_segment = false;
    uint64_t number = 0;
    std::map<uint64_t, Time> begins{};  // without the first one of a publishing, which begins in the middle of others'
};

TEST_F(VariantClockTest, NumbersStayEqualForAnHour) {
    std::vector<Encoder> encoders(3);
    encoders[1].ppm = 100;
    encoders[2].ppm = -100;
    std::minstd_rand random(1);  // NOLINT(cert-msc51-cpp): the same each time
    encoders[0].start(clock_, 0, 500s);
    encoders[1].start(clock_, 5'400, 0s);
    encoders[2].start(clock_, 11'700, 70s);
    std::optional<int64_t> returns_ms;
    for (int64_t restarts = 0; true;) {
        Encoder& next = *std::ranges::min_element(
            encoders, {}, [](const Encoder& one) { return one.member ? one.due_ms() : INT64_MAX; });
        const int64_t now_ms = next.due_ms();
        if (now_ms > 3'600'000) break;
        if (returns_ms && now_ms >= *returns_ms) {
            encoders[static_cast<size_t>(restarts % 3)].start(clock_, now_ms + 37, from_ms(restarts * 1'234));
            returns_ms.reset();
            ++restarts;
            continue;
        }
        // One after the other leaves, each seven minutes, and returns with times that begin anew.
        if (now_ms >= 420'000 * (restarts + 1) && !returns_ms) {
            encoders[static_cast<size_t>(restarts % 3)].member = {};
            returns_ms = now_ms + 20'000;
            continue;
        }
        next.keyframe(std::uniform_int_distribution<int64_t>(0, 60)(random));
        for (const Encoder& one : encoders) {
            if (!one.member || !one.has_segment || !next.has_segment) continue;
            ASSERT_LE(std::abs(static_cast<int64_t>(one.number - next.number)), 1) << now_ms;
        }
    }
    EXPECT_GT(encoders[0].number, 1'500u);
    size_t compared = 0;
    for (const auto& [number, begin] : encoders[0].begins) {
        for (const size_t i : {1, 2}) {
            const auto found = encoders[i].begins.find(number);
            if (found == encoders[i].begins.end()) continue;
            ASSERT_LE(media::distance(begin, found->second), Encoder::kGop + Encoder::kSlack) << number;
            ++compared;
        }
    }
    EXPECT_GT(compared, 3'000u);
}

TEST_F(VariantClockTest, WhoseTimesHaveJumpedGoesOnWithTheNumbersOfAll) {
    Encoder one, other;
    one.start(clock_, 0, 0s);
    other.start(clock_, 2'300, 0s);
    for (int64_t second = 0; second < 3'600; ++second) {
        if (second == 600) other.next_dts += 1h;
        if (second == 1'800) other.next_dts -= 2h;
        one.keyframe(0);
        other.keyframe(0);
        ASSERT_LE(std::abs(static_cast<int64_t>(one.number - other.number)), 2) << second;
    }
    EXPECT_EQ(one.number, 1'799u) << "its segments are of 2 s, whatever the other does";
}

}  // namespace
}  // namespace convert
