// Many viewers on real sockets: one leaves, one does not read, and all others get every packet.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "live/fanout/live_log.h"
#include "live/fanout/viewer.h"
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

constexpr size_t kViewers = 100;
constexpr size_t kGone = 7, kSlow = 20;  // the index of the one that leaves, and of the one that does not read

struct SocketClient : ViewerHandler {
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
            time.settle();
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
        time.settle();
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
        time.settle();
        for (auto& client : clients) client->read();
    }
    time.settle();
    for (auto& client : clients) EXPECT_TRUE(client->ended);
    clients.clear();
    stream.reset();
    time.settle();
    EXPECT_EQ(registry.size(), 0u);
}

// A publisher whose coroutine publishes a frame for each read.
class ReadOwner : public Owner {
  public:
    bool read_now() override {
        ++reads;
        wanted_.pulse();
        return true;
    }
    void begin(Stream& stream) {
        publication = std::move(*stream.acquire(*this, false));
        reader_ = runtime::spawn("reader", [this] {
            while (wanted_.wait_next(runtime::Deadline::never())) {
                if (!answers) continue;
                publication.publish(testing::video(reads * 40, reads == 1, std::to_string(reads)));
                publication.was_read();
            }
        });
    }
    void end() {
        reader_.cancel_and_join();
        publication.end();
    }

    int reads = 0;
    bool answers = true;
    Publication publication;

  private:
    runtime::Event wanted_{"a read"};
    runtime::Task reader_;
};

TEST_F(AudienceTest, EachPassBeginsWithAReadOfThePublisher) {
    constexpr int kIntervalMs = 350;
    runtime::testing::SimulatedTime time;
    Registry registry;
    ReadOwner owner;
    LiveOptions options;
    options.merge_ms = kIntervalMs;
    auto stream = registry.find_or_create({"v", "live", "s"}, options);
    owner.begin(*stream);
    owner.publication.publish(testing::header(media::Kind::kVideo, "VH"));
    SocketClient client(stream);
    client.join();
    time.settle();
    client.read();
    EXPECT_NE(client.got.find("[40 1]"), std::string::npos) << "the first pass is at once; it sent " << client.got;
    const int before = owner.reads;
    for (int pass = 1; pass <= 4; ++pass) {
        time.pass_ms(kIntervalMs);
        client.read();
        EXPECT_EQ(owner.reads, before + pass);
        const std::string newest = "[" + std::to_string(owner.reads * 40) + " " + std::to_string(owner.reads) + "]";
        EXPECT_TRUE(client.got.ends_with(newest)) << newest << " was read for the pass; it sent " << client.got;
    }
    // A publisher that is busy delays a pass by a few ms at most.
    owner.answers = false;
    owner.publication.publish(testing::video(10'000, false, "before"));
    time.pass_ms(kIntervalMs + 10);
    client.read();
    EXPECT_TRUE(client.got.ends_with("[10000 before]")) << client.got;
    owner.end();
    stream->end_viewers();
    time.settle();
    client.leave();
    time.settle();
    stream.reset();
    time.settle();
}

}  // namespace
}  // namespace live
