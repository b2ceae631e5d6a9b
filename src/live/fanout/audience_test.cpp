// Many viewers on real sockets: one leaves, one does not read, and all others get every packet.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "live/fanout/live_log.h"
#include "live/fanout/read_owner_testing.h"
#include "live/fanout/viewer.h"
#include "live/fanout/viewer_testing.h"
#include "live/hub/owner_testing.h"
#include "live/hub/registry.h"
#include "live/hub/stream.h"
#include "live/hub/testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/tcp_stream.h"

namespace live {
namespace {

using testing::Owner;
using testing::ReadOwner;

constexpr size_t kViewers = 100;
constexpr size_t kGone = 7, kSlow = 20;  // the index of the one that leaves, and of the one that does not read

struct SocketClient final : ViewerHandler {
    Viewer viewer;
    int peer = -1;
    bool ended = false;
    std::string got;

    explicit SocketClient(base::Ref<Stream> stream) : viewer(*this, std::move(stream)) {}
    void on_viewer_input(Viewer&, std::span<const uint8_t>) override {}
    void on_stream_end(Viewer&) override {}
    void on_viewer_end(Viewer&, std::string_view) override { ended = true; }
    ~SocketClient() { leave(); }
    void leave() {
        if (peer >= 0) ::close(std::exchange(peer, -1));
    }
    void join() {
        int ends[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        const int room = 4096;
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        auto socket = runtime::detail::TcpStream::make(ends[0], {});
        ASSERT_TRUE(socket);
        peer = ends[1];
        viewer.join(testing::kAllText, *std::move(socket), base::Slice::copy("HEAD "));
    }
    void read() {
        char buffer[65536];
        for (ssize_t n; peer >= 0 && (n = ::recv(peer, buffer, sizeof buffer, MSG_DONTWAIT)) > 0;)
            got.append(buffer, static_cast<size_t>(n));
    }
};

class AudienceTest : public runtime::testing::RuntimeTest {};

TEST_F(AudienceTest, AllOthersGetEveryPacket) {
    runtime::testing::SimulatedTime time;
    Registry registry;
    Owner owner;
    LiveOptions options;
    options.merge_ms = 0;
    auto stream = registry.find_or_create({"v", "live", "s"}, options);
    auto publication = std::move(*stream->acquire(owner, false));
    publication.publish(testing::header(media::Kind::kVideo, "VH"));
    std::vector<std::unique_ptr<SocketClient>> clients;
    std::string wanted = "HEAD <FIRST 0 VH|->";
    for (size_t i = 0; i < kViewers; ++i) {
        clients.push_back(std::make_unique<SocketClient>(stream));
        clients.back()->join();
    }
    for (int frame = 0; frame < 40; ++frame) {
        std::string text(static_cast<size_t>(frame) * 500, static_cast<char>('a' + frame % 26));
        publication.publish(testing::video(frame * 40, frame == 0, text));
        wanted += "[" + std::to_string(frame * 40) + " " + text + "]";
        if (frame == 10) clients[kGone]->leave();
        for (int check = 0; check < 400; ++check) {
            time.pass_ms(5);
            size_t behind = 0;
            for (size_t i = 0; i < kViewers; ++i) {
                if (i == kSlow) continue;
                clients[i]->read();
                behind += i != kGone && clients[i]->got.size() < wanted.size();
            }
            if (behind == 0) break;
        }
    }
    for (int check = 0; check < 400 && clients[kSlow]->got.size() < wanted.size(); ++check) {
        clients[kSlow]->read();
        time.pass_ms(5);
    }
    for (size_t i = 0; i < kViewers; ++i) {
        if (i == kGone) continue;
        EXPECT_TRUE(clients[i]->got == wanted)
            << "viewer " << i << " got " << clients[i]->got.size() << " bytes of " << wanted.size();
        EXPECT_EQ(clients[i]->viewer.counters().sent_bytes, wanted.size());
    }
    EXPECT_TRUE(clients[kGone]->ended);
    publication.end();
    stream->end_viewers();
    for (int i = 0; i < 400 && stream->viewer_count() > 0; ++i) {
        time.pass_ms(5);
        for (auto& client : clients) client->read();
    }
    time.settle();
    for (auto& client : clients) EXPECT_TRUE(client->ended);
    clients.clear();
    stream.reset();
    time.settle();
    EXPECT_EQ(registry.size(), 0u);
}

class AudienceReadTest : public AudienceTest {
  protected:
    static constexpr int kIntervalMs = 350;

    void SetUp() override {
        AudienceTest::SetUp();
        LiveOptions options;
        options.merge_ms = kIntervalMs;
        stream_ = registry_.find_or_create({"v", "live", "s"}, options);
        owner_.begin(*stream_);
        owner_.publication.publish(testing::header(media::Kind::kVideo, "VH"));
        client_ = std::make_unique<SocketClient>(stream_);
        client_->join();
        time_.settle();
    }
    void TearDown() override {
        owner_.end();
        stream_->end_viewers();
        time_.settle();
        client_->leave();
        time_.settle();
        client_.reset();
        stream_.reset();
        time_.settle();
        AudienceTest::TearDown();
    }
    void pass_ms(int ms) {
        time_.pass_ms(ms);
        client_->read();
    }

    runtime::testing::SimulatedTime time_;
    Registry registry_;
    ReadOwner owner_;
    base::Ref<Stream> stream_;
    std::unique_ptr<SocketClient> client_;
};

TEST_F(AudienceReadTest, EachCycleBeginsWithAReadOfThePublisher) {
    client_->read();
    EXPECT_EQ(owner_.reads, 2) << "for the first player, and for the first cycle, which is at once";
    EXPECT_NE(client_->got.find("[80 2]"), std::string::npos) << client_->got;
    const int before = owner_.reads;
    for (int pass = 1; pass <= 4; ++pass) {
        pass_ms(kIntervalMs);
        EXPECT_EQ(owner_.reads, before + pass);
        const std::string newest = "[" + std::to_string(owner_.reads * 40) + " " + std::to_string(owner_.reads) + "]";
        EXPECT_TRUE(client_->got.ends_with(newest)) << newest << " was read for the cycle; it sent " << client_->got;
    }
}

TEST_F(AudienceReadTest, AReloadThatMakesTheIntervalLonger) {
    constexpr int kLongMs = 1500;
    LiveOptions longer = stream_->options();
    longer.merge_ms = kLongMs;
    stream_->set_options(longer);
    pass_ms(kIntervalMs + kLongMs);  // it has been noticed
    const int before = owner_.reads;
    for (int pass = 1; pass <= 3; ++pass) {
        pass_ms(kLongMs);
        EXPECT_EQ(owner_.reads, before + pass);
        EXPECT_TRUE(client_->got.ends_with(" " + std::to_string(owner_.reads) + "]")) << client_->got;
    }
}

TEST_F(AudienceReadTest, ABusyPublisherDoesNotDelayACycle) {
    owner_.answers = false;
    owner_.publication.publish(testing::video(10'000, false, "before"));
    pass_ms(kIntervalMs + 10);
    EXPECT_TRUE(client_->got.ends_with("[10000 before]")) << client_->got;
}

TEST_F(AudienceReadTest, ViewersOfASilentPublisherEnd) {
    owner_.answers = false;
    pass_ms(2 * kIntervalMs);
    stream_->end_viewers();
    pass_ms(kIntervalMs);
    EXPECT_TRUE(client_->ended);
}

// 10,000 viewers are visited in ten rounds, so that none waits for all others.
TEST_F(AudienceReadTest, ACrowdIsVisitedInSeveralRounds) {
    constexpr size_t kCrowd = 3'000;
    std::vector<std::unique_ptr<testing::Client>> crowd;
    for (size_t i = 0; i < kCrowd; ++i) {
        crowd.push_back(std::make_unique<testing::Client>(stream_));
        crowd.back()->join();
    }
    pass_ms(2 * kIntervalMs);
    for (auto& one : crowd) one->take();
    std::map<int64_t, size_t> visited;  // by the time
    std::vector<int> times(kCrowd);
    for (int ms = 0; ms < kIntervalMs; ms += 5) {
        pass_ms(5);
        for (size_t i = 0; i < kCrowd; ++i) {
            if (crowd[i]->take().empty()) continue;
            ++visited[ms];
            ++times[i];
        }
    }
    EXPECT_EQ(visited.size(), 3u);
    EXPECT_EQ(std::ranges::count(times, 1), kCrowd) << "each is visited once in an interval";
    for (const auto& [ms, count] : visited) EXPECT_NEAR(count, kCrowd / 3, 2) << "at " << ms;
}

}  // namespace
}  // namespace live
