#include "live/hub/options.h"

#include <gtest/gtest.h>

namespace live {
namespace {

// Units make streams of LiveOptions{}: they are those of a configuration that says nothing.
TEST(LiveOptions, DefaultsAreThoseOfTheDirectives) {
    const LiveOptions of_rows = live_options(config::default_snapshot()->vhosts.front()), own;
    EXPECT_EQ(of_rows.gop_cache, own.gop_cache);
    EXPECT_EQ(of_rows.gop_cache_max_frames, own.gop_cache_max_frames);
    EXPECT_EQ(of_rows.queue_length_ms, own.queue_length_ms);
    EXPECT_EQ(of_rows.merge_ms, own.merge_ms);
    EXPECT_EQ(of_rows.audio_wait_ms, own.audio_wait_ms);
    EXPECT_EQ(of_rows.send_min_interval_ms, own.send_min_interval_ms);
    EXPECT_EQ(of_rows.no_delay, own.no_delay);
    EXPECT_EQ(of_rows.time_jitter, own.time_jitter);
    EXPECT_EQ(of_rows.atc, own.atc);
    EXPECT_EQ(of_rows.atc_auto, own.atc_auto);
    EXPECT_EQ(of_rows.mix_correct, own.mix_correct);
    EXPECT_EQ(of_rows.reduce_sequence_header, own.reduce_sequence_header);
    EXPECT_EQ(of_rows.audio_cache_ms, own.audio_cache_ms);
    EXPECT_EQ(of_rows.send_timeout_ms, own.send_timeout_ms);
    EXPECT_EQ(of_rows.rejoin_timeout_ms, own.rejoin_timeout_ms);
    EXPECT_EQ(of_rows.memory_limit, own.memory_limit);
}

TEST(StandbyOptions, DefaultsAreThoseOfTheDirectives) {
    const StandbyOptions of_rows = standby_options(config::default_snapshot()->vhosts.front()), own;
    EXPECT_EQ(of_rows.mode, own.mode);
    EXPECT_EQ(of_rows.timeout_ms, own.timeout_ms);
    EXPECT_EQ(of_rows.max, own.max);
}

}  // namespace
}  // namespace live
