#include "live/fanout/viewer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "live/fanout/live_log.h"
#include "live/fanout/viewer_testing.h"

namespace live {
namespace {

using testing::audio;
using testing::Client;
using testing::FakeSocket;
using testing::header;
using testing::Owner;
using testing::video;
using testing::ViewerTest;
using testing::Wire;

TEST_F(ViewerTest, GetsTheGopAtOnceAndThenEveryFrame) {
    publish_with(options);
    publication.publish(video(0, true));
    publication.publish(video(40));
    Client client(stream);
    client.join();
    EXPECT_EQ(client.take(), "HEAD <FIRST 0 VH|->[0 v][40 v]");
    settle();
    publication.publish(audio(50));
    settle(options.audio_wait_ms - 1);
    EXPECT_EQ(client.take(), "") << "audio is sent with the next video frame";
    publication.publish(video(80));
    settle();
    EXPECT_EQ(client.take(), "[50 a][80 v]");
    publication.publish(audio(90));
    settle(options.audio_wait_ms - 1);
    EXPECT_EQ(client.take(), "");
    settle(1 + runtime::TickWheel::kTickMs);
    EXPECT_EQ(client.take(), "[90 a]") << "audio must not wait for video that does not come";
    EXPECT_EQ(client.viewer.counters().sent_bytes, 48u);
}

TEST_F(ViewerTest, MergesWithinTheInterval) {
    options.merge_ms = 50;
    publish_with(options);
    publication.publish(video(0, true));
    Client client(stream);
    client.join();
    client.take();
    settle(60);
    publication.publish(video(40));
    publication.publish(video(80));
    settle(70);
    EXPECT_EQ(client.take(), "[40 v][80 v]");
}

TEST_F(ViewerTest, WaitsForTheNextKeyframeWithoutGopCache) {
    options.gop_cache = false;
    publish_with(options);
    publication.publish(video(0, true));
    Client client(stream);
    client.join();
    publication.publish(video(40));
    settle();
    EXPECT_EQ(client.take(), "HEAD ");
    publication.publish(video(80, true));
    settle();
    EXPECT_EQ(client.take(), "<FIRST 80 VH|->[80 v]");
}

TEST_F(ViewerTest, WaitsForAPublisher) {
    stream = registry.find_or_create({"v", "live", "s"}, options);
    Client client(stream);
    client.join();
    settle();
    EXPECT_EQ(client.take(), "HEAD ");
    publish_with(options);
    publication.publish(video(0, true));
    settle();
    EXPECT_EQ(client.take(), "<FIRST 0 VH|->[0 v]");
}

TEST_F(ViewerTest, AWaitingViewerGetsThePublishersFirstAudioToo) {
    stream = registry.find_or_create({"v", "live", "s"}, options);
    Client early(stream), late(stream);
    early.join();
    publish_with(options);
    publication.publish(audio(0));
    publication.publish(audio(20));
    publication.publish(video(40, true));
    publication.publish(video(80));
    late.join();
    settle();
    EXPECT_EQ(early.take(), "HEAD <FIRST 0 VH|->[0 a][20 a][40 v][80 v]");
    EXPECT_EQ(late.take(), "HEAD <FIRST 40 VH|->[40 v][80 v]");
}

// A publisher that was joined in the middle of a GOP, or whose keyframes cannot be recognized.
TEST_F(ViewerTest, AudioIsSentWhileTheFirstKeyframeIsAwaited) {
    stream = registry.find_or_create({"v", "live", "s"}, options);
    Client early(stream), late(stream), video_only(stream);
    early.join();
    video_only.join(testing::kVideoText);
    publish_with(options);
    publication.publish(video(0));
    publication.publish(audio(10));
    publication.publish(video(40));
    publication.publish(audio(50));
    settle();
    EXPECT_EQ(early.take(), "HEAD <FIRST 10 VH|->[10 a][50 a]");
    late.join();
    settle();
    EXPECT_EQ(late.take(), "HEAD <FIRST 50 VH|->[50 a]");
    publication.publish(video(80, true));
    publication.publish(video(120));
    settle();
    EXPECT_EQ(early.take(), "[80 v][120 v]");
    EXPECT_EQ(late.take(), "[80 v][120 v]");
    EXPECT_EQ(video_only.take(), "HEAD <FIRST 80 VH|->[80 v][120 v]");
    // The next publication.
    publication.end();
    publish_with(options);
    publication.publish(video(0));
    publication.publish(audio(10));
    publication.publish(video(40, true));
    settle();
    const std::string again = early.take();
    EXPECT_EQ(again.find(" v]"), again.rfind(" v]")) << again;
    EXPECT_NE(again.find(" a]"), std::string::npos) << again;
}

// The first prefix of FLV says which tracks there are, and players wait for all that it names.
TEST_F(ViewerTest, AnnouncedTracksAreAwaitedForASecond) {
    stream = registry.find_or_create({"v", "live", "s"}, options);
    Client early(stream), second(stream), plain(stream);
    early.join(testing::kAwaitingText);
    plain.join();
    publish_with(options);
    publication.publish(testing::metadata());
    publication.publish(video(0, true));
    settle();
    second.join(testing::kAwaitingText);
    time.pass_ms(500);
    publication.publish(video(500));
    settle();
    EXPECT_EQ(early.take(), "HEAD ");
    EXPECT_EQ(second.take(), "HEAD ");
    EXPECT_NE(plain.take().find("[500 v]"), std::string::npos) << "other formats do not wait";
    time.pass_ms(600);
    publication.publish(video(1'100));
    settle();
    const std::string all = "<FIRST 0 VH|->[0 v][500 v][1100 v]";
    EXPECT_EQ(early.take(), all);
    EXPECT_EQ(second.take(), all);
    // And one that comes in time.
    publication.end();
    Client other(stream);
    other.join(testing::kAwaitingText);
    publish_with(options);
    publication.publish(testing::metadata());
    publication.publish(video(0, true));
    time.pass_ms(100);
    EXPECT_EQ(other.take(), "HEAD ");
    publication.publish(header(media::Kind::kAudio, "AH"));
    publication.publish(audio(20));
    time.pass_ms(200);
    const std::string begun = other.take();
    EXPECT_TRUE(begun.starts_with("<FIRST ") && begun.ends_with(" a]")) << begun;
    EXPECT_NE(begun.find(" v]"), std::string::npos) << begun;
}

TEST_F(ViewerTest, AWaitingViewerGetsAStreamThatEndsAtOnce) {
    options.merge_ms = 50;
    options.rejoin_timeout_ms = 20;
    registry.start();
    stream = registry.find_or_create({"v", "live", "s"}, options);
    Client client(stream);
    client.join();
    settle(70);  // the pump's first cycle is over
    publish_with(options);
    publication.publish(video(0, true));
    publication.publish(video(40));
    publication.end();
    settle(300);
    EXPECT_EQ(client.take(), "HEAD <FIRST 0 VH|->[0 v][40 v]");
    EXPECT_TRUE(client.ended);
}

TEST_F(ViewerTest, SendsTheRestWhenTheSocketIsWritable) {
    publish_with(options);
    publication.publish(video(0, true, std::string(300, 'k')));
    Client client(stream);
    client.wire->room = 30;
    client.join();
    std::string got = client.take();
    EXPECT_EQ(got.size(), 30u);
    client.wire->make_room(100);
    got += client.take();
    publication.publish(video(40));
    settle();
    client.wire->make_room(SIZE_MAX);
    got += client.take();
    EXPECT_EQ(got, "HEAD <FIRST 0 VH|->[0 " + std::string(300, 'k') + "][40 v]");
}

TEST_F(ViewerTest, ControlGoesOutBetweenPackets) {
    publish_with(options);
    publication.publish(video(0, true, std::string(50, 'k')));
    publication.publish(video(40));
    Client client(stream);
    client.wire->room = 30;  // into the keyframe
    client.join();
    client.viewer.send_control(base::Slice::copy("PONG"));
    client.wire->make_room(SIZE_MAX);
    EXPECT_EQ(client.take(), "HEAD <FIRST 0 VH|->[0 " + std::string(50, 'k') + "]PONG[40 v]");
}

TEST_F(ViewerTest, TooMuchControlClosesTheViewer) {
    publish_with(options);
    Client client(stream);
    client.wire->room = 0;
    client.join();
    for (size_t i = 0; i <= Viewer::kMaxPending; ++i) client.viewer.send_control(base::Slice::copy("PONG"));
    settle();
    EXPECT_TRUE(client.ended);
}

TEST_F(ViewerTest, ASlowViewerJumpsToALaterKeyframeAndIsCounted) {
    options.queue_length_ms = 30;
    options.send_timeout_ms = 0;
    publish_with(options);
    publication.publish(video(0, true, "kkkkkkkk"));
    Client client(stream);
    client.wire->room = 28;  // in the middle of the first packet
    client.join();
    settle(60);
    for (int t = 40; t <= 3000; t += 40) {
        if (t == 1960) publication.publish(header(media::Kind::kVideo, "VH2"));
        publication.publish(video(t, t == 2000));
    }
    settle(50);
    EXPECT_EQ(client.viewer.counters().jumps, 1u);
    EXPECT_GT(client.viewer.counters().skipped_bytes, 0u);
    EXPECT_EQ(stream->counters().viewer_jumps, 1u);
    client.wire->make_room(SIZE_MAX);
    EXPECT_TRUE(client.take().starts_with("HEAD <FIRST 0 VH|->[0 kkkkkkkk]<2000 VH2|->[2000 v][2040 v]"))
        << "the packet under way is finished, the changed headers are sent, a keyframe comes first";
}

// An encoder's clock may be set, and a publisher may send faster than in real time.
TEST_F(ViewerTest, LagIsMeasuredByArrivalAndNotByThePublishersTimes) {
    options.time_jitter = TimeJitter::kOff;
    options.queue_length_ms = 1000;
    options.merge_ms = 20;
    options.send_timeout_ms = 0;
    publish_with(options);
    publication.publish(video(0, true));
    Client well(stream), slow(stream);
    slow.wire->room = 0;
    well.join();
    slow.join();
    EXPECT_EQ(well.take(), "HEAD <FIRST 0 VH|->[0 v]");
    settle(40);
    publication.publish(video(40));
    publication.publish(video(60'080));
    publication.publish(video(40));
    settle(60);
    EXPECT_EQ(well.take(), "[40 v][60080 v][40 v]");
    slow.wire->make_room(SIZE_MAX);
    EXPECT_EQ(slow.take(), "HEAD <FIRST 0 VH|->[0 v][40 v][60080 v][40 v]");
    EXPECT_EQ(stream->counters().viewer_jumps, 0u);
}

TEST_F(ViewerTest, AnotherViewersLagDoesNotHoldItBack) {
    publish_with(options);
    Client stuck(stream), well(stream);
    stuck.wire->room = 0;
    stuck.join();
    well.join();
    publication.publish(video(0, true));
    settle();
    EXPECT_EQ(well.take(), "HEAD <FIRST 0 VH|->[0 v]");
    settle(150);
    publication.publish(video(40));
    settle(50);
    EXPECT_TRUE(stuck.ended);
    EXPECT_NE(stuck.why.find("no byte accepted"), std::string::npos) << stuck.why;
    EXPECT_EQ(stuck.reason, base::CloseReason::kTooSlow);
    EXPECT_TRUE(stuck.wire->closed);
    EXPECT_FALSE(well.ended);
}

TEST_F(ViewerTest, MemoryIsBoundedByTheQueueLength) {
    options.queue_length_ms = 5;
    options.send_timeout_ms = 0;
    publish_with(options);
    Client stuck(stream);
    stuck.wire->room = 0;
    stuck.join();
    std::string payload(10'000, 'x');
    for (int t = 0; t < 100'000; t += 40) {
        publication.publish(video(t, t % 400 == 0, payload));
        if (t % 1000 == 0) settle(1);
    }
    settle(50);
    LiveLog& log = stream->log(testing::kAllText);
    EXPECT_LT(log.head() - log.tail(), 2'000'000u) << "some 250 kB came each millisecond, 25 MB in all";
}

TEST_F(ViewerTest, PausesAndResumesAtTheNewestKeyframe) {
    publish_with(options);
    publication.publish(video(0, true));
    Client client(stream);
    client.join();
    client.viewer.set_paused(true);
    client.take();
    publication.publish(video(40));
    publication.publish(video(80, true));
    publication.publish(video(120));
    settle();
    EXPECT_EQ(client.take(), "");
    client.viewer.set_paused(false);
    EXPECT_EQ(client.take(), "<80 VH|->[80 v][120 v]");
}

TEST_F(ViewerTest, MovesToAnotherLog) {
    publish_with(options);
    publication.publish(video(0, true));
    Client client(stream);
    client.join();
    client.take();
    client.viewer.switch_log(testing::kAudioText);
    publication.publish(video(40));
    publication.publish(audio(50));
    publication.publish(video(80));
    settle(100);
    EXPECT_EQ(client.take(), "<50 VH|->[50 a]");
}

TEST_F(ViewerTest, ViewersClosedTogetherAreNotifiedUnlessDestroyedBefore) {
    publish_with(options);
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 5; ++i) {
        clients.push_back(std::make_unique<Client>(stream));
        clients.back()->join();
    }
    for (auto& client : clients) client->viewer.abort("kicked", base::CloseReason::kKicked);
    clients.erase(clients.begin() + 1);
    clients.pop_back();
    settle();
    for (auto& client : clients) EXPECT_EQ(client->why, "kicked");
}

TEST_F(ViewerTest, EndsWithTheStreamAfterEverythingWasSent) {
    options.rejoin_timeout_ms = 50;
    options.merge_ms = 1000;  // so that the end comes before the pump's next cycle
    publish_with(options);
    registry.start();
    publication.publish(video(0, true));
    Client client(stream);
    client.last_words = "BYE";
    client.join();
    client.take();
    publication.publish(video(40));
    publication.end();
    settle(400);
    EXPECT_EQ(client.take(), "[40 v]BYE");
    EXPECT_TRUE(client.ended);
    EXPECT_EQ(client.why, "the stream ended");
    EXPECT_EQ(client.reason, base::CloseReason::kStreamEnded);
}

TEST_F(ViewerTest, StaysWhenThePublisherComesBack) {
    options.rejoin_timeout_ms = 150;
    publish_with(options);
    registry.start();
    publication.publish(video(0, true));
    Client client(stream);
    client.join();
    client.take();
    publication.end();
    settle(60);
    publish_with(options);
    publication.publish(video(0, true));
    settle(200);
    EXPECT_FALSE(client.ended);
    EXPECT_EQ(client.take(), "[0 VH][40 v]");
}

TEST_F(ViewerTest, StopsAfterItsDuration) {
    publish_with(options);
    Client client(stream);
    client.last_words = "BYE";
    client.join(testing::kAllText, 100);
    for (int t = 0; t <= 200; t += 40) publication.publish(video(t, t == 0));
    settle();
    EXPECT_EQ(client.take(), "HEAD <FIRST 0 VH|->[0 v][40 v][80 v]BYE");
    EXPECT_TRUE(client.ended);
}

TEST_F(ViewerTest, IsClosedWhenItsLastBytesHaveArrived) {
    options.merge_ms = 10;  // the pump's interval
    options.send_timeout_ms = 400;
    publish_with(options);
    publication.publish(video(0, true));
    Client client(stream), silent(stream), leaving(stream);
    client.last_words = silent.last_words = leaving.last_words = "BYE";
    for (Client* one : {&client, &silent, &leaving}) {
        one->wire->unacknowledged = 1'000;
        one->join();
    }
    publication.end();
    stream->end_viewers();
    settle();
    EXPECT_EQ(client.take(), "HEAD <FIRST 0 VH|->[0 v]BYE");
    client.viewer.send_control(base::Slice::copy("PONG"));
    leaving.wire->end = true;
    leaving.wire->handler->on_readable();
    // Longer than send_timeout, but some bytes are acknowledged meanwhile.
    for (int i = 0; i < 200 && !silent.ended; ++i) {
        --client.wire->unacknowledged;
        settle();
    }
    EXPECT_FALSE(client.ended);
    EXPECT_EQ(client.take(), "") << "nothing comes after the end";
    EXPECT_TRUE(silent.ended);
    EXPECT_TRUE(silent.why.starts_with("no byte accepted for ")) << silent.why;
    EXPECT_EQ(silent.reason, base::CloseReason::kStreamEnded) << "the first reason given";
    EXPECT_TRUE(leaving.ended);
    EXPECT_EQ(leaving.reason, base::CloseReason::kStreamEnded);
    client.wire->unacknowledged = 0;
    settle(40);
    EXPECT_TRUE(client.ended && client.wire->closed);
    EXPECT_EQ(client.reason, base::CloseReason::kStreamEnded);
}

TEST_F(ViewerTest, ReportsInputAndThePeersEnd) {
    publish_with(options);
    Client client(stream);
    client.join();
    client.wire->input = "ping";
    client.wire->handler->on_readable();
    EXPECT_EQ(client.input, "ping");
    client.wire->end = true;
    client.wire->handler->on_readable();
    settle();
    EXPECT_TRUE(client.ended);
    EXPECT_EQ(client.why, "closed by the peer");
    EXPECT_EQ(client.reason, base::CloseReason::kPeerClosed);
}

// One edge reports both.
TEST_F(ViewerTest, NoticesTheEndThatCameWithItsLastInput) {
    publish_with(options);
    Client client(stream);
    client.join();
    client.wire->input = "bye";
    client.wire->end = true;
    client.wire->handler->on_readable();
    settle();
    EXPECT_EQ(client.input, "bye");
    EXPECT_EQ(client.why, "closed by the peer");
}

// What is left stays in the socket, which is parked again and so reports it.
TEST_F(ViewerTest, ReadsAFloodOfInputInSlices) {
    publish_with(options);
    Client client(stream);
    client.join();
    client.wire->input = std::string(2 << 20, 'x');
    client.input_takes_us = 1'000;
    for (size_t calls = 1; !client.wire->input.empty(); ++calls) {
        const size_t before = client.wire->input.size();
        client.wire->handler->on_readable();
        const size_t read = before - client.wire->input.size();
        ASSERT_TRUE(read > 0 && read <= 8 * 1024) << read << " bytes in call " << calls;
        ASSERT_TRUE(client.wire->handler != nullptr);
        if (calls == 100) break;
    }
    EXPECT_FALSE(client.ended);
}

TEST_F(ViewerTest, GivesItsSocketBackAtAPacketBoundary) {
    publish_with(options);
    publication.publish(video(0, true, "kkkkkkkk"));
    Client client(stream);
    client.wire->room = 22;
    client.join();
    client.viewer.send_control(base::Slice::copy("PONG"));
    std::vector<base::Slice> unsent;
    auto socket = client.viewer.leave(unsent);
    ASSERT_NE(socket, nullptr);
    std::string rest;
    for (const auto& slice : unsent) rest += slice.text();
    EXPECT_EQ(client.take() + rest, "HEAD <FIRST 0 VH|->[0 kkkkkkkk]PONG");
    EXPECT_FALSE(client.viewer.joined());
}

class CrowdTest : public ViewerTest, public ::testing::WithParamInterface<int64_t> {};

TEST_P(CrowdTest, ViewersJoinAndLeaveDuringAPass) {
    options.merge_ms = GetParam();
    publish_with(options);
    publication.publish(video(0, true));
    std::vector<std::unique_ptr<Client>> clients;
    constexpr int kClients = 6000;
    for (int i = 0; i < kClients; ++i) {
        clients.push_back(std::make_unique<Client>(stream));
        clients.back()->wire->keep = 3000;
        clients.back()->join();
        if (i % 3 == 0) clients[i / 3]->viewer.abort("enough", base::CloseReason::kKicked);
        if (i % 50 != 0) continue;
        publication.publish(video(40 + i, i % 500 == 0, std::string(2000, 'x')));
        if (i % 250 == 0) settle(5);
    }
    std::string last = "[" + std::to_string(40 + kClients - 50) + " " + std::string(2000, 'x') + "]";
    auto behind = [&] {
        return std::count_if(clients.begin(), clients.end(), [&](const auto& client) {
            return !client->ended && !client->wire->accepted.ends_with(last);
        });
    };
    for (int i = 0; i < 2000 && behind() > 0; ++i) settle();
    EXPECT_EQ(behind(), 0) << "viewers that did not get the last frame";
    EXPECT_EQ(stream->viewer_count(), kClients * 2u / 3);
    EXPECT_EQ(std::ranges::count(clients, true, [](const auto& client) { return client->ended; }), kClients / 3);
}

INSTANTIATE_TEST_SUITE_P(MergeMs, CrowdTest, ::testing::Values(0, 60));

}  // namespace
}  // namespace live
