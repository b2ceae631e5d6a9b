#include "service/rtc/play/rtp_cursor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace service::rtc {
namespace {

using Video = RtpCursor::Change::Video;

constexpr size_t kBacklogBytes = 10'000;

// A ring of video (track 0) and audio (track 1), a packet each 10 ms.
struct RingWriter {
    live::RtpRing ring{{.packets = 256}};
    int64_t now_us = 0;
    uint64_t video = 0, audio = 1'000;
    uint32_t unit = 0;

    void put(bool is_audio, bool keyframe, size_t bytes, uint64_t sequence) {
        live::RtpPacket packet;
        packet.track = is_audio;
        packet.sequence = sequence;
        packet.timestamp = is_audio ? static_cast<uint32_t>(sequence) : unit;
        packet.arrival_us = now_us += 10'000;
        packet.keyframe = keyframe;
        ring.append(std::move(packet), std::vector<uint8_t>(bytes));
    }
    // "K": a keyframe, "k": one of 4 kB, "P": another frame, "A": audio.
    void put(std::string_view packets) {
        for (const char what : packets) {
            if (what == 'A') {
                put(true, false, 100, ++audio);
                continue;
            }
            ++unit;
            put(false, what != 'P', what == 'k' ? 4'000 : 100, ++video);
        }
    }
};

// What it is sent: "V3 A1001 ..." by sequence.
std::string what_is_sent(RtpCursor& cursor, const RingWriter& writer, size_t most = SIZE_MAX) {
    std::string text;
    for (; cursor.position() < writer.ring.end() && most > 0; cursor.advance(), --most) {
        const live::RtpPacket& packet = writer.ring.at(cursor.position());
        const auto kind = packet.track ? media::Kind::kAudio : media::Kind::kVideo;
        if (!cursor.is_wanted(kind) || (kind == media::Kind::kVideo && cursor.waits_for_keyframe())) continue;
        text += (packet.track ? "A" : "V") + std::to_string(packet.sequence) + " ";
    }
    if (cursor.position() == writer.ring.end()) cursor.catch_up();
    return text;
}

TEST(RtpCursor, BeginsAtAKeyframe) {
    struct Row {
        const char* before;  // it joins
        const char* then;
        const char* gets;
    };
    for (const Row& row : {
             Row{"KPPA", "", "V1 V2 V3 "},           // old audio is not sent
             {"KPAPA", "PA", "V1 V2 V3 V4 A1003 "},  // audio goes on where it joined
             {"PPA", "APKP", "A1002 V4 V5 "},        // no keyframe yet: audio alone until it comes
             {"", "AKPA", "A1001 V1 V2 A1002 "},     // the first player
             {"KPKPP", "P", "V3 V4 V5 V6 "},         // the newest keyframe
             {"", "A", "A1001 "},
         }) {
        RingWriter writer;
        writer.put(row.before);
        RtpCursor cursor;
        cursor.restart(writer.ring, true);
        std::string got;
        // As the lane calls it: for each packet.
        for (const char what : std::string_view(row.then)) {
            (void)cursor.update(writer.ring, kBacklogBytes);
            got += what_is_sent(cursor, writer);
            writer.put({&what, 1});
        }
        (void)cursor.update(writer.ring, kBacklogBytes);
        EXPECT_EQ(got + what_is_sent(cursor, writer), row.gets) << row.before << " " << row.then;
    }
}

TEST(RtpCursor, AGopThatIsTooLargeIsNotSentToANewPlayer) {
    RingWriter writer;
    writer.put("kkkPP");  // each of 4 kB
    writer.put("kPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPP");
    RtpCursor cursor;
    cursor.restart(writer.ring, true);
    EXPECT_EQ(cursor.update(writer.ring, kBacklogBytes), RtpCursor::Change{.wants_start = true});
    EXPECT_EQ(cursor.update(writer.ring, kBacklogBytes), RtpCursor::Change{}) << "it asks once";
    EXPECT_TRUE(cursor.waits_for_keyframe());
    RtpCursor patient = cursor;
    writer.put("K");
    EXPECT_EQ(patient.update(writer.ring, kBacklogBytes).video, Video::kBegins);
    EXPECT_EQ(patient.position(), writer.ring.end() - 1);
    EXPECT_EQ(cursor.update(writer.ring, 100 * kBacklogBytes).video, Video::kBegins) << "it may be sent more now";
}

TEST(RtpCursor, BeginsWithTheLowestNumberOfAKeyframeWhosePacketsWereReordered) {
    RingWriter writer;
    writer.unit = 7;
    writer.put(false, true, 100, 12);
    writer.put(false, true, 100, 11);
    writer.put(false, false, 100, 13);
    RtpCursor cursor;
    cursor.restart(writer.ring, true);
    EXPECT_EQ(cursor.update(writer.ring, kBacklogBytes),
              (RtpCursor::Change{.video = Video::kBegins, .first_sequence = 11}));
}

TEST(RtpCursor, WhileItSendsABacklogItSkipsToAKeyframeThatIsFarAhead) {
    for (const size_t distance : {RtpCursor::kMaxBehind - 1, RtpCursor::kMaxBehind}) {
        RingWriter writer;
        writer.put("K");
        RtpCursor cursor;
        cursor.restart(writer.ring, true);
        EXPECT_EQ(cursor.update(writer.ring, kBacklogBytes).video, Video::kBegins);
        writer.put(std::string(distance - 1, 'P') + "K");
        const RtpCursor::Change change = cursor.update(writer.ring, kBacklogBytes);
        EXPECT_EQ(change.has_jumped, distance == RtpCursor::kMaxBehind);
        EXPECT_EQ(change.video, change.has_jumped ? Video::kBegins : Video::kGoesOn);
        const std::string first = change.has_jumped ? "V" + std::to_string(distance + 1) + " " : "V1 V2 ";
        EXPECT_TRUE(what_is_sent(cursor, writer).starts_with(first));
    }
}

TEST(RtpCursor, WhoHasSentAllDoesNotSkip) {
    RingWriter writer;
    writer.put("K");
    RtpCursor cursor;
    cursor.restart(writer.ring, true);
    (void)cursor.update(writer.ring, kBacklogBytes);
    EXPECT_EQ(what_is_sent(cursor, writer), "V1 ");
    writer.put(std::string(100, 'P') + "K");
    EXPECT_EQ(cursor.update(writer.ring, kBacklogBytes), RtpCursor::Change{});
    EXPECT_TRUE(what_is_sent(cursor, writer).starts_with("V2 V3 "));
}

TEST(RtpCursor, AfterAJumpItWaitsForAKeyframeThatArrivesLater) {
    RingWriter writer;
    writer.put("KPKP");
    RtpCursor cursor;
    cursor.restart(writer.ring, true);
    (void)cursor.update(writer.ring, kBacklogBytes);
    const RtpCursor::Change jumped{.video = Video::kStops, .has_jumped = true, .wants_keyframe = true};
    EXPECT_EQ(cursor.jump(writer.ring), jumped);
    EXPECT_EQ(cursor.jump(writer.ring), RtpCursor::Change{}) << "it waits already";
    writer.put("PA");
    EXPECT_EQ(cursor.update(writer.ring, kBacklogBytes), RtpCursor::Change{});
    EXPECT_EQ(what_is_sent(cursor, writer), "A1001 ");
    writer.put("KA");
    EXPECT_EQ(cursor.update(writer.ring, kBacklogBytes).video, Video::kBegins);
    EXPECT_EQ(what_is_sent(cursor, writer), "V6 A1002 ");
}

TEST(RtpCursor, BehindTheRingItJumps) {
    RingWriter writer;
    writer.put("K");
    RtpCursor cursor;
    cursor.restart(writer.ring, true);
    (void)cursor.update(writer.ring, kBacklogBytes);
    writer.put(std::string(300, 'P'));
    const RtpCursor::Change change = cursor.update(writer.ring, kBacklogBytes);
    EXPECT_TRUE(change.has_jumped);
    EXPECT_EQ(change.video, Video::kStops);
    EXPECT_EQ(cursor.position(), writer.ring.begin());
    // Of audio alone nothing is lost but what the ring has dropped.
    RtpCursor audio;
    audio.restart(writer.ring, false);
    writer.put(std::string(300, 'A'));
    EXPECT_EQ(audio.update(writer.ring, kBacklogBytes), RtpCursor::Change{});
    EXPECT_EQ(audio.position(), writer.ring.begin());
}

TEST(RtpCursor, WhoseConnectionIsFullForASecondIsTooSlow) {
    RingWriter writer;
    writer.put("K");
    RtpCursor cursor;
    cursor.restart(writer.ring, true);
    (void)cursor.update(writer.ring, kBacklogBytes);
    writer.put("PP");
    const int64_t first_us = writer.ring.at(cursor.position()).arrival_us;
    EXPECT_EQ(cursor.skip_stale(writer.ring, first_us + RtpCursor::kMaxCongestedUs - 1), RtpCursor::Change{});
    EXPECT_EQ(cursor.position(), 0u);
    EXPECT_TRUE(cursor.skip_stale(writer.ring, first_us + RtpCursor::kMaxCongestedUs).has_jumped);
    EXPECT_EQ(cursor.position(), writer.ring.end());
    EXPECT_EQ(cursor.skip_stale(writer.ring, first_us + 2 * RtpCursor::kMaxCongestedUs), RtpCursor::Change{});
}

TEST(RtpCursor, AnotherSourceOfTheVideoIsNoJump) {
    RingWriter writer;
    writer.put("KPA");
    RtpCursor cursor;
    cursor.restart(writer.ring, true);
    (void)cursor.update(writer.ring, kBacklogBytes);
    EXPECT_EQ(cursor.wait_for_keyframe(writer.ring), RtpCursor::Change{.video = Video::kStops});
    writer.put("PK");
    EXPECT_EQ(cursor.update(writer.ring, kBacklogBytes),
              (RtpCursor::Change{.video = Video::kBegins, .first_sequence = 4}));
}

}  // namespace
}  // namespace service::rtc
