#include "service/rtc/play/short_link.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace service::rtc {
namespace {

using Video = RtpCursor::Change::Video;

// A video of 800 kbit/s: a packet of 1,000 bytes each 10 ms, a keyframe of `keyframe` packets each second.
struct Scene {
    live::RtpRing ring{{.packets = 1024}};
    int64_t now_us = 1'000'000;
    uint64_t sequence = 0;
    uint32_t unit = 0;
    size_t keyframe = 10;
    uint32_t kbps = 400;
    ShortLink link{0, true, now_us};
    std::string sent;  // of each second: how many packets, "!" before it where the video began anew
    size_t count = 0;

    void put(bool is_keyframe) {
        live::RtpPacket packet;
        packet.sequence = ++sequence;
        packet.timestamp = unit;
        packet.arrival_us = now_us;
        packet.keyframe = is_keyframe;
        ring.append(std::move(packet), std::vector<uint8_t>(1'000));
    }
    void send() {
        link.refill(kbps, now_us);
        const RtpCursor::Change change = link.update(ring, kbps, now_us);
        if (change.video == Video::kBegins) {
            sent += "!";
            EXPECT_GT(change.first_sequence, 0u);
        }
        for (; link.has_next(ring); link.advance(), ++count) link.spend(1'000);
    }
    void second() {
        count = 0;
        for (size_t i = 0; i < 100; ++i) {
            unit += i == 0 || i >= keyframe;
            put(i < keyframe);
            send();
            now_us += 10'000;
        }
        sent += std::to_string(count) + " ";
    }
};

TEST(ShortLink, SendsTheHeadOfEachGop) {
    Scene scene;
    for (int i = 0; i < 4; ++i) scene.second();
    EXPECT_EQ(scene.sent, "!50 !50 !50 !50 ");
}

TEST(ShortLink, SendsAllThatTheLinkTakes) {
    Scene scene;
    scene.kbps = 900;
    for (int i = 0; i < 3; ++i) scene.second();
    EXPECT_EQ(scene.sent, "!100 100 100 ");
    EXPECT_TRUE(scene.link.has_caught_up(scene.ring));
}

TEST(ShortLink, SendsNoVideoWhereNotEvenKeyframesFit) {
    Scene scene;
    scene.keyframe = 80;
    scene.kbps = 300;
    for (int i = 0; i < 3; ++i) scene.second();
    EXPECT_TRUE(scene.link.audio_alone());
    EXPECT_EQ(scene.sent.substr(0, 4), "!38 ");
    EXPECT_EQ(scene.sent.substr(4), "0 0 ") << "the first keyframe was not sent before the second came";
    scene.kbps = 700;
    scene.second();
    EXPECT_FALSE(scene.link.audio_alone());
    EXPECT_EQ(scene.sent.substr(8, 1), "!") << scene.sent;
}

TEST(ShortLink, WaitsFirstForWhatTheLinkHasToSendStill) {
    Scene scene;
    scene.link.pause(400, 500);
    scene.second();
    EXPECT_EQ(scene.sent, "!25 ");
}

TEST(ShortLink, WhatIsMissingIsSentBeforeNewVideo) {
    Scene scene;
    scene.second();
    ASSERT_FALSE(scene.link.may_send());
    size_t bytes = 0;
    for (; scene.link.may_retransmit(scene.kbps) && bytes < 100'000; bytes += 1'000) scene.link.spend(1'000);
    EXPECT_NEAR(static_cast<double>(bytes), 400 * 100 / 8, 1'000) << "of 100 ms";
    const size_t before = scene.link.position();
    scene.now_us += 90'000;
    scene.send();
    EXPECT_EQ(scene.link.position(), before) << "the video waits";
    scene.now_us += 60'000;
    scene.send();
    EXPECT_GT(scene.link.position(), before);
    scene.link.pause(400, 500);
    EXPECT_FALSE(scene.link.may_retransmit(scene.kbps)) << "the link has to send still";
}

TEST(ShortLink, WhatIsTooLateIsSkippedWithoutAKeyframe) {
    Scene scene;
    scene.second();
    bool stops = false;
    for (int i = 0; i < 800; ++i) {
        ++scene.unit;
        scene.put(false);
        scene.link.refill(scene.kbps, scene.now_us);
        const RtpCursor::Change change = scene.link.update(scene.ring, scene.kbps, scene.now_us);
        EXPECT_EQ(change.wants_keyframe, change.video == Video::kStops) << "the publisher may send none by itself";
        stops |= change.video == Video::kStops;
        for (; scene.link.has_next(scene.ring); scene.link.advance()) scene.link.spend(1'000);
        scene.now_us += 10'000;
    }
    EXPECT_TRUE(stops);
    scene.second();
    EXPECT_EQ(scene.sent.substr(scene.sent.rfind('!'), 1), "!") << "the next keyframe";
}

}  // namespace
}  // namespace service::rtc
