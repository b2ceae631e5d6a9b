// Players whose link takes less than the stream, or loses some of it.
#include <algorithm>

#include "service/rtc/play/player_testing.h"

namespace service::rtc {
namespace {

using testing::PlayerTest;

// The estimate falls below what is sent, again and again: audio goes on, the video is measured out, and its packets
// tell when they are sent.
TEST_F(PlayerTest, AViewerWithAShortLinkGetsAudioAndAsMuchVideoAsItTakes) {
    put(0, 100, "idr", true);
    auto viewer = view(true);
    settle();
    viewer->session.counts.bytes_sent = 1'000'000;
    for (const uint64_t remb : {9'000, 400, 300, 80}) {
        (void)runtime::sleep_ms(310);
        viewer->session.counts.bytes_sent += 40'000;  // 1,000 kbit/s
        viewer->remb(remb);
    }
    const std::string large(1'000, 'x');
    // It takes what the link sends in 0.1 s: for so long nothing follows it.
    put(0, 150, large);
    std::string before;
    ASSERT_TRUE(wait_for([&] { return (before += viewer->got()).find("v1003:") != std::string::npos; }));
    for (uint32_t i = 0; i < 50; ++i) put(0, 200 + i, large);
    put(1, 20, "sound");
    settle();
    EXPECT_EQ(viewer->got(), "a1001:sound ") << "it is not held back by the video before it";
    (void)runtime::sleep_ms(300);
    const size_t sent = viewer->session.sent.size();
    viewer->read = sent;
    EXPECT_LT(sent, 3 + 10u) << "80 kbit/s are 3 packets in 300 ms";
    EXPECT_GT(sent, 3u) << "the video goes on where it was";
    put(0, 400, "IDR", true);
    std::string later;
    const auto has_skipped = [&] { return (later += viewer->got()).ends_with(":IDR "); };
    EXPECT_TRUE(wait_for(has_skipped)) << "what is late is skipped";
    viewer->player->on_tick(base::monotonic_ms());
    const net::RtcQuality told = viewer->player->quality();
    ASSERT_TRUE(told.viewing);
    EXPECT_EQ(told.viewing->sent, net::RtcSent::kHeads);
    EXPECT_GT(told.viewing->estimate_kbps, 50u);
    EXPECT_LE(told.viewing->estimate_kbps, 80u);
    ASSERT_EQ(told.viewing->history.size(), 1u);
    EXPECT_EQ(told.viewing->history[0].sent, net::RtcSent::kHeads);
    EXPECT_EQ(told.viewing->history[0].estimate_kbps, told.viewing->estimate_kbps);
    EXPECT_GT(told.trouble(), 1000);
    // A connection that is full does not end it: the video goes on with the next keyframe at the latest.
    viewer->session.full = true;
    now_us -= 1'500'000;
    put(0, 500, "late");
    now_us += 1'500'000;
    settle();
    viewer->session.full = false;
    put(0, 600, "KEY", true);
    const auto goes_on = [&] { return (later += viewer->got()).find(":KEY ") != std::string::npos; };
    EXPECT_TRUE(wait_for(goes_on));
    EXPECT_EQ(rtc_stats().on_heads, 1u);
    viewer.reset();
    EXPECT_EQ(rtc_stats().on_heads, 0u);
}

TEST_F(PlayerTest, AViewerThatLosesPacketsGetsAudioRedundantly) {
    auto viewer = view();
    put(0, 100, "idr", true);
    put(1, 960, "a");
    settle();
    viewer->report(50, 20);
    put(1, 1'920, "b");
    settle();
    EXPECT_EQ(viewer->got(), "v1002:idr a1001:a a1002:b ") << "one report of losses tells nothing";
    viewer->report(50, 20, 0, 1'000);
    put(1, 2'880, "c");
    settle();
    const std::vector<uint8_t> bytes = viewer->session.sent.back().bytes;
    const auto view = *rtp::PacketView::parse(bytes);
    EXPECT_EQ(view.payload_type(), 63);
    EXPECT_EQ(view.sequence(), 1003);
    EXPECT_EQ(rtp::text_value(view.payload().last(4)), "oabc") << "o is 111, the primary's payload type";
    viewer->report(50, 0, 0, 40'000);
    put(1, 3'840, "d");
    settle();
    (void)viewer->got();
    EXPECT_EQ(rtp::PacketView::parse(viewer->session.sent.back().bytes)->payload_type(), 111);
}

TEST_F(PlayerTest, WhileASenderThreadHasMuchToDoHeWaitsForATick) {
    put(0, 100, "idr", true);
    auto viewer = view();
    settle();
    (void)viewer->got();
    viewer->session.crowded = true;
    put(0, 200, "b");
    settle();
    EXPECT_EQ(viewer->got(), "");
    viewer->session.crowded = false;
    EXPECT_TRUE(wait_for([&] { return viewer->session.packets == 2; })) << "without another packet";
    EXPECT_EQ(viewer->got(), "v1003:b ");
}

TEST_F(PlayerTest, WhileHisConnectionIsFullNothingIsSent) {
    put(0, 100, "idr", true);
    auto viewer = view();
    settle();
    (void)viewer->got();
    viewer->session.full = true;
    put(0, 200, "b");
    settle();
    EXPECT_EQ(viewer->got(), "");
    viewer->session.full = false;
    put(0, 300, "c");
    settle();
    EXPECT_EQ(viewer->got(), "v1003:b v1004:c ");
    // Full for too long: it continues at the next keyframe.
    viewer->session.full = true;
    now_us -= 1'500'000;
    put(0, 400, "d");
    now_us += 1'500'000;
    settle();
    put(0, 500, "e");
    settle();
    put(0, 600, "f");
    settle();
    viewer->session.full = false;
    put(0, 700, "g");
    put(0, 800, "idr", true);
    settle();
    EXPECT_EQ(viewer->got(), "v1005:idr ");
    EXPECT_EQ(viewer->player->counters().jumps, 1u);
}

}  // namespace
}  // namespace service::rtc
