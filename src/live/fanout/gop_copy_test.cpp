// For few viewers a log does not keep the GOP: who joins later gets a copy, made of the stream's frames.

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "live/fanout/live_log.h"
#include "live/fanout/viewer_testing.h"

namespace live {
namespace {

using testing::audio;
using testing::Client;
using testing::kAllText;
using testing::kUnrepeatableText;
using testing::video;

class GopCopyTest : public testing::ViewerTest {
  protected:
    // A GOP of 1 s. The pump sends each frame to those who watch.
    void publish_gop(size_t frame_bytes = 100) {
        for (int64_t t = 0; t < 1000; t += 40) {
            publication.publish(video(t, t == 0, std::string(frame_bytes, 'v')));
            settle();
        }
    }
    // What a player receives that joins now.
    std::string joined(Client& client, const LogKey& key = kAllText, uint32_t duration_ms = 0) {
        client.join(key, duration_ms);
        settle();
        return client.take();
    }
    static constexpr size_t kGopBytes = 25 * 100;
};

TEST_F(GopCopyTest, FewViewersKeepNoGopInTheLog) {
    publish_with(options);
    Client first(stream);
    first.join();
    publish_gop();
    const LiveLog& log = stream->log(kAllText);
    EXPECT_EQ(log.tail(), log.head()) << "every viewer has all, and a new one gets a copy";
    EXPECT_LE(log.memory(), 1024u) << "a block is given back when it is empty";
    std::string gop = first.take();
    Client second(stream);
    EXPECT_EQ(joined(second), gop) << "the same bytes as from the log";
    publication.publish(audio(990));
    publication.publish(video(1000));
    settle();
    EXPECT_EQ(second.take(), "[990 a][1000 v]") << "and then what follows";
    EXPECT_EQ(first.take(), "[990 a][1000 v]");
    EXPECT_EQ(stream->memory().viewers, 0u) << "the copy is released when it was sent";
}

TEST_F(GopCopyTest, ManyViewersHaveItInTheLog) {
    publish_with(options);
    std::deque<Client> clients;
    for (size_t i = 0; i <= LiveLog::kFewViewers; ++i) clients.emplace_back(stream).join();
    publish_gop();
    const LiveLog& log = stream->log(kAllText);
    EXPECT_GE(log.head() - log.tail(), kGopBytes);
    std::string gop = clients.front().take();
    Client late(stream);
    EXPECT_EQ(joined(late), gop);
    clients.clear();  // one is left
    for (int64_t t : {1000, 1040}) {
        publication.publish(video(t));
        settle();
    }
    EXPECT_EQ(log.tail(), log.head());
}

TEST_F(GopCopyTest, ACrowdSharesCopiesAndTheyAreBounded) {
    options.memory_limit = 1024 * 1024;
    publish_with(options);
    Client first(stream);
    first.join();
    publish_gop(4'000);
    const LiveLog& log = stream->log(kAllText);
    std::deque<Client> crowd;
    for (size_t i = 0; i < 100; ++i) {
        crowd.emplace_back(stream).wire->room = 0;
        crowd.back().join();
    }
    EXPECT_LE(log.memory(), 110'000u) << "one copy for all but the first few";
    EXPECT_LE(stream->memory().viewers, LiveLog::kFewViewers * 110'000) << "and a copy of its own for each of these";
    for (int64_t t = 1000; t < 2000; t += 40) {
        publication.publish(video(t, false, std::string(4'000, 'v')));
        crowd.emplace_back(stream).wire->room = 0;
        crowd.back().join();
    }
    EXPECT_LE(log.memory(), options.memory_limit / 2) << "copies at many offsets are limited, too";
    for (Client& client : crowd) client.wire->make_room(SIZE_MAX);
    settle();
    EXPECT_EQ(crowd[50].take().substr(0, 30), "HEAD <FIRST 0 VH|->[0 vvvvvvvv");
    settle(1000);
    EXPECT_LE(log.memory(), 250'000u) << "the log from the publishing of the last keyframe's successors on";
}

TEST_F(GopCopyTest, AFormatWhosePacketsCannotBeRepeatedKeepsIt) {
    publish_with(options);
    Client first(stream);
    first.join(kUnrepeatableText);
    publish_gop();
    const LiveLog& log = stream->log(kUnrepeatableText);
    EXPECT_GE(log.head() - log.tail(), kGopBytes);
    std::string gop = first.take();
    Client second(stream);
    EXPECT_EQ(joined(second, kUnrepeatableText), gop);
}

TEST_F(GopCopyTest, CopiesForSlowViewersAreBounded) {
    options.memory_limit = 1024 * 1024;
    publish_with(options);
    Client first(stream);
    first.join();
    publish_gop(4'000);
    std::deque<Client> slow;
    while (slow.size() < 5) {
        Client& client = slow.emplace_back(stream);
        client.wire->room = 0;
        client.join();
    }
    EXPECT_LE(stream->memory().viewers, options.memory_limit / 4);
    EXPECT_GE(stream->memory().viewers, 2 * 100'000u);
    slow.back().wire->make_room(SIZE_MAX);
    slow.back().viewer.send_control(base::Slice::copy("PING "));
    publication.publish(video(1000));
    publication.publish(video(1040, true));
    settle();
    EXPECT_EQ(slow.back().take(), "HEAD PING <FIRST 1040 VH|->[1040 v]") << "no copy was left for it";
}

TEST_F(GopCopyTest, OfAShortDurationComesNoMoreThanThat) {
    publish_with(options);
    Client first(stream);
    first.join();
    publish_gop();
    Client brief(stream);
    const std::string frame = " " + std::string(100, 'v') + "]";
    EXPECT_EQ(joined(brief, kAllText, 100), "HEAD <FIRST 0 VH|->[0" + frame + "[40" + frame + "[80" + frame);
    publication.publish(video(1000));
    settle();
    EXPECT_EQ(brief.take(), "");
    EXPECT_TRUE(brief.ended);
}

TEST_F(GopCopyTest, AResumedViewerBeginsWithOne) {
    publish_with(options);
    Client client(stream);
    client.join();
    publish_gop();
    const std::string gop = client.take();
    client.viewer.set_paused(true);
    client.viewer.set_paused(false);
    settle();
    EXPECT_EQ("HEAD <FIRST 0 VH|->" + client.take().substr(sizeof "<0 VH|->" - 1), gop) << "without a file header";
}

}  // namespace
}  // namespace live
