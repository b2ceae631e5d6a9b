#include "live/fanout/cursor.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

namespace live {
namespace {

using Rest = Cursor::Rest;

// Packets of 10 bytes, 40 ms apart.
PacketIndex log_of(size_t packets) {
    PacketIndex log;
    for (size_t i = 0; i < packets; ++i) {
        const auto ms = static_cast<int64_t>(i) * 40;
        log.append(media::from_ms(ms), 1000 + ms, 10);
    }
    return log;
}

Cursor playing_from(uint64_t offset) {
    Cursor cursor;
    cursor.play_from(offset);
    return cursor;
}

TEST(CursorTest, WhatItMayBeSent) {
    struct Row {
        std::string_view what;
        Cursor cursor;
        uint64_t packet_end, limit;
        Rest rest;
        uint64_t needed_from;
    };
    const PacketIndex log = log_of(10);
    const auto with = [&](Cursor cursor, auto change) {
        change(cursor);
        return cursor;
    };
    const Row rows[] = {
        {"stopped", {}, 0, 0, Rest::kMore, UINT64_MAX},
        {"waits for a start", with({}, [](Cursor& c) { c.wait_from(30); }), 30, 30, Rest::kMore, UINT64_MAX},
        {"holds a start", with({}, [](Cursor& c) { c.hold(30); }), 30, 30, Rest::kMore, 30},
        {"at a packet's start", playing_from(30), 30, 100, Rest::kDurationOver, 30},
        {"within a packet", playing_from(33), 40, 100, Rest::kDurationOver, 33},
        {"has all", playing_from(100), 100, 100, Rest::kMore, 100},
        {"stopped within a packet", with(playing_from(33), [](Cursor& c) { c.stop(); }), 33, 33, Rest::kMore,
         UINT64_MAX},
        {"a duration that is not over", with(playing_from(30), [](Cursor& c) { c.end_at(media::from_ms(200)); }), 30,
         50, Rest::kDurationOver, 30},
        {"a duration that is over", with(playing_from(50), [](Cursor& c) { c.end_at(media::from_ms(200)); }), 50, 50,
         Rest::kDurationOver, 50},
        {"beyond its duration", with(playing_from(60), [](Cursor& c) { c.end_at(media::from_ms(200)); }), 60, 60,
         Rest::kDurationOver, 60},
        {"the stream ends", with(playing_from(30), [&](Cursor& c) { c.end_here(log); }), 30, 100, Rest::kDurationOver,
         30},
        {"it has all of a stream that has ended", with(playing_from(100), [&](Cursor& c) { c.end_here(log); }), 100,
         100, Rest::kStreamEnded, 100},
        {"the stream ends while it waits",
         with({},
              [&](Cursor& c) {
                  c.wait_from(30);
                  c.end_here(log);
              }),
         30, 30, Rest::kStreamEnded, UINT64_MAX},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.what);
        EXPECT_EQ(row.cursor.packet_end(log), row.packet_end);
        EXPECT_EQ(row.cursor.limit(log), row.limit);
        EXPECT_EQ(row.cursor.needed_from(), row.needed_from);
        // The rest is asked for only where nothing is left to send.
        if (row.cursor.limit(log) > row.cursor.position()) continue;
        EXPECT_EQ(row.cursor.rest(log), row.rest);
    }
}

TEST(CursorTest, WhatIsPublishedAfterTheEndIsNotForIt) {
    PacketIndex log = log_of(3);
    Cursor cursor = playing_from(10);
    EXPECT_TRUE(cursor.end_here(log));
    log.append(media::from_ms(120), 1120, 10);
    EXPECT_FALSE(cursor.end_here(log)) << "the first end counts";
    EXPECT_EQ(cursor.limit(log), 30u);
    cursor.advance(20);
    EXPECT_EQ(cursor.rest(log), Rest::kStreamEnded);
    cursor.forget_end();
    EXPECT_EQ(cursor.limit(log), 40u);
}

TEST(CursorTest, WhereItGoesOnAfterAJump) {
    struct Row {
        uint64_t from;
        std::optional<uint64_t> newest_start;
        uint64_t position;
        bool plays;
    };
    const PacketIndex log = log_of(10);
    const Row rows[] = {
        {30, 70, 70, true},             // a later start
        {30, 30, 100, false},           // its own: too far behind that
        {30, 20, 100, false},           // an earlier one
        {30, std::nullopt, 100, false}  // none
    };
    for (const Row& row : rows) {
        Cursor cursor = playing_from(row.from);
        EXPECT_TRUE(cursor.is_before(row.from + 1));
        EXPECT_FALSE(cursor.is_before(row.from));
        EXPECT_EQ(cursor.jump(log, row.newest_start), row.position - row.from);
        EXPECT_EQ(cursor.position(), row.position);
        EXPECT_EQ(cursor.plays(), row.plays);
        EXPECT_EQ(cursor.waits(), !row.plays);
        EXPECT_FALSE(cursor.is_before(row.position));
    }
}

TEST(CursorTest, WhenItIsTooSlow) {
    Cursor cursor;
    cursor.record_progress(1000);
    EXPECT_FALSE(cursor.is_too_slow(1100, 100));
    EXPECT_TRUE(cursor.is_too_slow(1101, 100));
    EXPECT_EQ(cursor.stalled_ms(1101), 101);
    EXPECT_FALSE(cursor.is_too_slow(1'000'000, 0)) << "no limit";
    cursor.record_progress(1101);
    EXPECT_FALSE(cursor.is_too_slow(1201, 100));
}

TEST(PacketIndexTest, PacketsAreFoundByOffsetTimeAndAge) {
    PacketIndex log = log_of(10);
    EXPECT_EQ(log.head(), 100u);
    EXPECT_EQ(log.packet_end(0), 0u);
    EXPECT_EQ(log.packet_end(95), 100u);
    EXPECT_EQ(log.offset_at(media::from_ms(41)), 20u);
    EXPECT_EQ(log.offset_at(media::from_ms(400)), 100u);
    EXPECT_EQ(log.lag_limit(80), 70u);
    EXPECT_EQ(log.lag_limit(1000), 0u);
    EXPECT_EQ(log.ms_behind(70), 80);
    log.trim(45);
    EXPECT_EQ(log.lag_limit(1000), 50u) << "what was released is too far behind";
}

}  // namespace
}  // namespace live
