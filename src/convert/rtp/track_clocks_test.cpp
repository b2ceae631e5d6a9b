#include "convert/rtp/track_clocks.h"

#include <gtest/gtest.h>

namespace convert {
namespace {

using media::Time;
using std::chrono::milliseconds;

constexpr int64_t kMs = 1'000;  // microseconds

int64_t ms(TrackClocks::Moment moment) { return media::to_ms(moment.time); }
uint64_t ntp(int64_t unix_ms) { return rtp::ntp_of_unix_us(unix_ms * kMs); }

// Video of 90 kHz is track 0, audio of 48 kHz track 1.
TrackClocks clocks() { return TrackClocks({90'000, 48'000}); }

TEST(TrackClocks, AreExactWithinATrack) {
    auto c = clocks();
    const Time first = c.at(1, 0xffffff00, 0).time;
    EXPECT_EQ(first, TrackClocks::kFirst);
    uint32_t timestamp = 0xffffff00;
    for (int i = 1; i < 100'000; ++i) {
        timestamp += 1024;
        EXPECT_EQ(c.at(1, timestamp, i * 21'333 + (i * 7919) % 50'000).time - first,
                  media::from_ticks(int64_t{i} * 1024, 48'000))
            << "frame " << i;
    }
}

TEST(TrackClocks, BeginByTheTimeOfArrival) {
    auto c = clocks();
    EXPECT_EQ(ms(c.at(0, 1000, 50 * kMs)), 200);
    EXPECT_EQ(ms(c.at(1, 777, 80 * kMs)), 230);
    EXPECT_EQ(ms(c.at(1, 777 + 480, 200 * kMs)), 240);  // not by arrival any more
}

TEST(TrackClocks, SenderReportsBringTracksIntoStepForward) {
    for (bool audio_is_late : {false, true}) {
        auto c = clocks();
        c.at(0, 90'000, 0);
        c.at(1, 48'000, 0);
        // What arrived together was taken 300 ms apart.
        c.on_sender_report(0, ntp(audio_is_late ? 1'000'000 : 1'000'300), 90'000);
        c.on_sender_report(1, ntp(audio_is_late ? 1'000'300 : 1'000'000), 48'000);
        const int64_t video = ms(c.at(0, 90'000 + 3600, 40 * kMs)), audio = ms(c.at(1, 48'000 + 1920, 40 * kMs));
        EXPECT_EQ(audio - video, audio_is_late ? 300 : -300);
        EXPECT_EQ(std::min(audio, video), 240) << "no track goes back";
    }
}

TEST(TrackClocks, AMovableTrackIsMovedAlone) {
    for (bool audio_is_late : {false, true}) {
        auto c = clocks();
        c.set_movable(1);
        c.at(1, 48'000, 0);
        c.at(0, 90'000, 0);
        c.on_sender_report(1, ntp(audio_is_late ? 1'000'300 : 1'000'000), 48'000);
        c.on_sender_report(0, ntp(audio_is_late ? 1'000'000 : 1'000'300), 90'000);
        EXPECT_EQ(ms(c.at(0, 90'000 + 3600, 40 * kMs)), 240);
        EXPECT_EQ(ms(c.at(1, 48'000 + 1920, 40 * kMs)), audio_is_late ? 540 : -60);
    }
}

// Audio comes 250 ms late, with its report: it begins beside the video of its time, which stays where it is.
TEST(TrackClocks, ATrackThatBeginsIsPutWhereItBelongs) {
    for (size_t late : {size_t{1}, size_t{0}}) {
        auto c = clocks();
        const size_t early = 1 - late;
        const uint32_t rates[] = {90'000, 48'000};
        c.on_sender_report(early, ntp(5'000), 0);
        c.at(early, 0, 0);
        EXPECT_EQ(ms(c.at(early, rates[early] / 4, 250 * kMs)), 450);
        c.on_sender_report(late, ntp(5'000), 0);
        EXPECT_EQ(ms(c.at(late, 0, 250 * kMs)), 200);
        EXPECT_EQ(ms(c.at(early, rates[early] / 2, 500 * kMs)), 700);
    }
}

// The report comes before the first packet, as ffmpeg sends it.
TEST(TrackClocks, ReportsMayBeFirst) {
    auto c = clocks();
    c.on_sender_report(0, ntp(5'000), 0);
    c.on_sender_report(1, ntp(5'100), 0);
    EXPECT_EQ(ms(c.at(0, 0, 0)), 200);
    EXPECT_EQ(ms(c.at(1, 0, 0)), 300);
}

TEST(TrackClocks, SmallDeviationsAreCorrectedInParts) {
    auto c = clocks();
    c.at(0, 0, 0);
    c.at(1, 0, 0);
    c.on_sender_report(0, ntp(1'000), 0);
    c.on_sender_report(1, ntp(1'000), 0);
    c.on_sender_report(0, ntp(6'000), 5 * 90'000);
    c.on_sender_report(1, ntp(6'040), 5 * 48'000);  // its sample clock is slow
    EXPECT_EQ(ms(c.at(0, 5 * 90'000, 5000 * kMs)), 5200);
    EXPECT_EQ(ms(c.at(1, 5 * 48'000, 5000 * kMs)), 5210);
    c.on_sender_report(1, ntp(6'000), 5 * 48'000);
    EXPECT_EQ(media::to_us(c.at(1, 5 * 48'000, 5000 * kMs).time), 5'207'500);
}

TEST(TrackClocks, ContradictingReportsAreIgnored) {
    auto c = clocks();
    c.at(0, 0, 0);
    c.at(1, 0, 0);
    c.on_sender_report(0, ntp(1'000'000), 0);
    c.on_sender_report(1, ntp(0), 0);  // 1970
    c.on_sender_report(1, 0, 0);
    EXPECT_EQ(ms(c.at(0, 3600, 40 * kMs)), 240);
    EXPECT_EQ(ms(c.at(1, 1920, 40 * kMs)), 240);
}

TEST(TrackClocks, TheSendersWallClockMayBeSet) {
    auto c = clocks();
    c.at(0, 0, 0);
    c.at(1, 0, 0);
    c.on_sender_report(0, ntp(1'000), 0);
    c.on_sender_report(1, ntp(1'000), 0);
    for (int64_t s = 1; s < 4; ++s) {  // three seconds later by NTP, in one track after the other
        c.on_sender_report(0, ntp(4'000 + s * 1000), static_cast<uint32_t>(s * 90'000));
        EXPECT_EQ(ms(c.at(0, static_cast<uint32_t>(s * 90'000), s * 1000 * kMs)), 200 + s * 1000);
        EXPECT_EQ(ms(c.at(1, static_cast<uint32_t>(s * 48'000), s * 1000 * kMs)), 200 + s * 1000);
        c.on_sender_report(1, ntp(4'000 + s * 1000), static_cast<uint32_t>(s * 48'000));
    }
}

TEST(TrackClocks, RtpInfoIsUsedBeforeReports) {
    auto c = clocks();
    c.set_rtp_info(0, 90'000);
    c.set_rtp_info(1, 48'000);
    EXPECT_EQ(ms(c.at(0, 90'000 + 9'000, 0)), 200);
    EXPECT_EQ(ms(c.at(1, 48'000 + 9'600, 0)), 300);  // 200 ms behind the start, video 100
    auto wrong = clocks();
    wrong.set_rtp_info(0, 0);
    wrong.set_rtp_info(1, 48'000'000);
    wrong.at(0, 0, 0);
    EXPECT_EQ(ms(wrong.at(1, 0, 0)), 200);
}

TEST(TrackClocks, TimestampsThatStandStillAreReplacedByTheArrival) {
    auto c = clocks();
    EXPECT_EQ(ms(c.at(0, 5, 0)), 200);
    EXPECT_EQ(ms(c.at(0, 5, 1000 * kMs)), 200);
    for (int64_t i = 1; i < 100; ++i) EXPECT_EQ(ms(c.at(0, 5, (1000 + i * 40) * kMs)), 200 + i * 40);
    EXPECT_EQ(ms(c.at(0, 3605, 5000 * kMs)), 200 + 99 * 40 + 40);  // it moves again
}

TEST(TrackClocks, AnotherRateCountsFromTheNewestTimestampOn) {
    auto c = clocks();
    c.at(1, 0, 0);
    EXPECT_EQ(ms(c.at(1, 48'000, 1000 * kMs)), 1200);
    c.set_rate(1, 8000);
    EXPECT_EQ(ms(c.at(1, 48'000, 1000 * kMs)), 1200);
    EXPECT_EQ(ms(c.at(1, 48'000 + 8000, 2000 * kMs)), 2200);
}

TEST(TrackClocks, JumpsAreRemoved) {
    auto c = clocks();
    c.at(0, 0, 0);
    c.at(1, 0, 0);
    auto jumped = c.at(0, 900'000'000, 40 * kMs);
    EXPECT_TRUE(jumped.jumped);
    EXPECT_EQ(ms(jumped), 240);
    auto next = c.at(0, 900'003'600, 80 * kMs);
    EXPECT_FALSE(next.jumped);
    EXPECT_EQ(ms(next), 280);
    // A camera that reboots: another SSRC, in step with the track that went on.
    c.at(1, 4 * 48'000, 4000 * kMs);
    c.restart(0);
    auto restarted = c.at(0, 5, 4100 * kMs);
    EXPECT_TRUE(restarted.jumped);
    EXPECT_EQ(ms(restarted), 4300);
}

}  // namespace
}  // namespace convert
