// Viewers whose writes are lent to sender threads: the peer gets what it gets without them.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "live/fanout/audience.h"
#include "live/fanout/live_log.h"
#include "live/fanout/viewer_testing.h"
#include "runtime/senders/senders.h"
#include "runtime/socket/tcp_stream.h"
#include "runtime/socket/tls_testing.h"

namespace live {
namespace {

using runtime::Senders;
using testing::Client;
using testing::kAllText;
using testing::video;

enum class Job { kQueued, kRunning, kWhole, kShort, kFailed };

struct Entry {
    const char* name;
    std::function<void(Stream&, Client&)> call;
    bool joined_only = false;  // it must not be called once the viewer has ended
};

const Entry kEntries[] = {
    {"nothing", [](Stream&, Client&) {}},
    {"send_control", [](Stream&, Client& c) { c.viewer.send_control(base::Slice::copy("PONG")); }},
    {"pause", [](Stream&, Client& c) { c.viewer.set_paused(true); }},
    {"pause_and_resume",
     [](Stream&, Client& c) {
         c.viewer.set_paused(true);
         c.viewer.set_paused(false);
     }},
    {"switch_log", [](Stream&, Client& c) { c.viewer.switch_log(testing::kVideoText); }},
    {"finish", [](Stream&, Client& c) { c.viewer.finish("enough", base::CloseReason::kKicked); }},
    {"end_with_stream", [](Stream&, Client& c) { c.viewer.end_with_stream(); }},
    {"end_and_await_peer", [](Stream&, Client& c) { c.viewer.end_with_stream(true); }},
    {"end_viewers", [](Stream& s, Client&) { s.end_viewers(); }},
    {"jump_before", [](Stream& s, Client&) { s.log(kAllText).audience().jump_before(s.log(kAllText).head()); }},
    {"leave",
     [](Stream&, Client& c) {
         std::vector<base::Slice> unsent;
         auto socket = c.viewer.leave(unsent);
         for (const auto& slice : unsent) c.wire->accepted += slice.text();
     },
     true},
    {"input",
     [](Stream&, Client& c) {
         c.wire->input = "ping";
         c.wire->handler->on_readable();
     },
     true},
    {"input_over_tls",
     [](Stream&, Client& c) {
         c.wire->is_tls = true;
         c.wire->input = "ping";
         c.wire->handler->on_readable();
     },
     true},
};

const Entry kEnds[] = {
    {"abort", [](Stream&, Client& c) { c.viewer.abort("enough", base::CloseReason::kKicked); }},
    {"abort_all",
     [](Stream& s, Client&) { s.log(kAllText).audience().abort_all("enough", base::CloseReason::kKicked); }},
    {"hangup", [](Stream&, Client& c) { c.wire->handler->on_hangup(); }, true},
    {"peers_end",
     [](Stream&, Client& c) {
         c.wire->end = true;
         c.wire->handler->on_readable();
     },
     true},
    {"peers_end_over_tls",
     [](Stream&, Client& c) {
         c.wire->is_tls = true;
         c.wire->end = true;
         c.wire->handler->on_readable();
     },
     true},
};

struct Outcome {
    std::string bytes, why, input;
    base::CloseReason reason = base::CloseReason::kUnknown;
    bool ended = false;
    bool operator==(const Outcome&) const = default;
};
[[maybe_unused]] void PrintTo(const Outcome& o, std::ostream* out) {
    *out << '"' << o.bytes << "\", why: " << o.why << ", input: " << o.input << ", ended: " << o.ended;
}

class ViewerJobsTest : public testing::ViewerTest {
  protected:
    void TearDown() override {
        ViewerTest::TearDown();
        runtime::stop_senders();
    }
    Senders& lend_all() {
        runtime::install_senders(std::move(*Senders::start(1, Senders::Mode::kManual)));
        runtime::senders()->set_min_sends(1);
        return *runtime::senders();
    }
    void work(int64_t ms) {
        for (; ms > 0; ms -= 10) {
            settle();
            if (runtime::senders()) (void)runtime::senders()->run(0);
        }
        settle();
    }
    // A client whose write of [40 v] is in that state when the entry point is called. What is taken back was as little
    // written as what a full socket did not take.
    Outcome run(const Entry& entry, Job job, bool lends) {
        publish_with(options);
        publication.publish(video(0, true));
        auto client = std::make_unique<Client>(stream);
        client->join();
        work(20);
        Senders* senders = lends ? &lend_all() : nullptr;
        if (job == Job::kShort) client->wire->room = 3;
        if (job == Job::kFailed) client->wire->resets = true;
        if (job == Job::kQueued && !lends) client->wire->room = 0;
        publication.publish(video(40));
        settle(1);
        EXPECT_EQ(senders ? senders->stats().jobs : 1, 1u);
        if (senders && job == Job::kRunning) senders->begin_job(0);
        const bool is_done = job != Job::kRunning && job != Job::kQueued;
        if (senders && is_done) (void)senders->run(0);
        publication.publish(video(60, true));
        if (!entry.joined_only || client->wire->handler) entry.call(*stream, *client);
        if (client->wire->handler) client->wire->make_room(SIZE_MAX);
        work(30);
        publication.publish(video(80));
        work(1000);
        Outcome outcome{client->wire->accepted, client->why, client->input, client->reason, client->ended};
        client.reset();
        publication.end();
        stream->end_viewers();
        work(1000);
        stream.reset();
        if (senders) runtime::stop_senders();
        return outcome;
    }
};

TEST_F(ViewerJobsTest, EachEntryPointGivesThePeerTheSameBytes) {
    for (const Entry& entry : kEntries)
        for (const Job job : {Job::kQueued, Job::kRunning, Job::kWhole, Job::kShort, Job::kFailed}) {
            SCOPED_TRACE(std::string(entry.name) + ", job " + std::to_string(static_cast<int>(job)));
            Outcome with = run(entry, job, true);
            const Outcome without = run(entry, job, false);
            if (job == Job::kFailed && entry.joined_only) {
                // The loop does not know of it yet.
                EXPECT_EQ(with.bytes, without.bytes);
                continue;
            }
            EXPECT_EQ(with, without);
        }
}

TEST_F(ViewerJobsTest, EachEndHasTheSameReason) {
    for (const Entry& entry : kEnds)
        for (const Job job : {Job::kQueued, Job::kRunning, Job::kWhole, Job::kShort, Job::kFailed}) {
            SCOPED_TRACE(std::string(entry.name) + ", job " + std::to_string(static_cast<int>(job)));
            const Outcome with = run(entry, job, true), without = run(entry, job, false);
            EXPECT_EQ(with, without);
            EXPECT_TRUE(with.ended);
        }
}

// The log keeps what a thread may still read.
TEST_F(ViewerJobsTest, BytesAreReleasedWhenTheWriteIsCollected) {
    publish_with(options);
    publication.publish(video(0, true));
    Client client(stream);
    client.join();
    settle();
    Senders& senders = lend_all();
    const std::string payload(40'000, 'x');
    publication.publish(video(40, false, payload));
    settle(1);
    for (int i = 0; i < 20; ++i) {
        publication.publish(video(80 + 40 * i, true, std::string(20'000, 'y')));
        settle();
    }
    client.take();
    EXPECT_EQ(senders.stats().jobs, 1u) << "one at a time";
    (void)senders.run(0);
    EXPECT_EQ(client.take(), "[40 " + payload + "]");
    work(600);
    EXPECT_TRUE(client.take().ends_with("y]"));
    EXPECT_EQ(client.viewer.counters().jumps, 0u);
}

TEST_F(ViewerJobsTest, AShortWriteGoesOnWhenRoomWasMadeBeforeItWasCollected) {
    publish_with(options);
    publication.publish(video(0, true));
    Client client(stream);
    client.join();
    settle();
    client.take();
    Senders& senders = lend_all();
    client.wire->room = 3;
    publication.publish(video(40));
    settle(1);
    (void)senders.run(0);
    EXPECT_EQ(client.take(), "[40");
    client.wire->make_room(SIZE_MAX);
    settle(10);
    (void)senders.run(0);
    EXPECT_EQ(client.take(), " v]");
}

// Reading uses what the thread writes with. The bytes that were taken back do not wait for the next visit.
TEST_F(ViewerJobsTest, InputOverTlsEndsTheLentWrite) {
    for (const bool is_tls : {false, true})
        for (const bool is_running : {false, true}) {
            SCOPED_TRACE(std::string(is_tls ? "TLS, " : "TCP, ") + (is_running ? "running" : "queued"));
            publish_with(options);
            publication.publish(video(0, true));
            Client client(stream);
            client.wire->is_tls = is_tls;
            client.join();
            settle();
            client.take();
            Senders& senders = lend_all();
            publication.publish(video(40));
            settle(1);
            if (is_running) senders.begin_job(0);
            client.wire->input = "ping";
            client.wire->handler->on_readable();
            EXPECT_EQ(client.input, "ping");
            EXPECT_EQ(client.take(), is_tls ? "[40 v]" : "");
            EXPECT_EQ(senders.stats().revoked, is_tls && !is_running ? 1u : 0u);
            (void)senders.run(0);
            EXPECT_EQ(client.take(), is_tls ? "" : "[40 v]");
            client.viewer.abort("enough", base::CloseReason::kKicked);
            publication.end();
            settle(1000);
            stream.reset();
            runtime::stop_senders();
        }
}

TEST_F(ViewerJobsTest, ARoundOfFewViewersIsNotLent) {
    publish_with(options);
    publication.publish(video(0, true));
    Client client(stream);
    client.join();
    settle();
    client.take();
    Senders& senders = lend_all();
    senders.set_min_sends(Senders::kMinSends);
    publication.publish(video(40));
    settle();
    EXPECT_EQ(client.take(), "[40 v]");
    EXPECT_EQ(senders.stats().jobs, 0u);
}

// A viewer with a socket of the kernel, whose buffer is small: most writes are short.
struct Peer {
    Peer(base::Ref<Stream> stream, bool with_tls) : client(std::move(stream)) {
        int ends[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
        const int bytes = 4096;
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        runtime::testing::StreamPair pair{*runtime::detail::TcpStream::make(ends[1], {}),
                                          *runtime::detail::TcpStream::make(ends[0], {})};
        if (with_tls) pair = runtime::testing::with_tls(std::move(pair));
        end = std::move(pair.client);
        client.viewer.join(kAllText, std::move(pair.server), base::Slice::copy("HEAD "));
    }
    void read_some(size_t most) {
        uint8_t buffer[8192];
        const auto n = end->try_read(std::span(buffer).first(std::clamp<size_t>(most, 1, sizeof buffer)));
        if (n) got.append(buffer, buffer + n->bytes);
    }
    void send(std::string_view input) {
        sent += input;
        EXPECT_EQ(end->try_write(runtime::testing::bytes(input)).value_or(0), input.size());
    }
    // What it was sent but for the control messages.
    std::string of_log() const {
        std::string log;
        for (const char c : got)
            if (c != '#') log += c;
        return log;
    }

    Client client;
    std::unique_ptr<runtime::ByteStream> end;
    std::string got, sent;
};

class ViewerThreadsTest : public ViewerJobsTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Socket, ViewerThreadsTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Tls" : "Tcp"; });

TEST_P(ViewerThreadsTest, SendWhatTheLoopWouldSendWhileViewersAreUsed) {
    options.send_timeout_ms = 0;
    options.queue_length_ms = 600'000;
    publish_with(options);
    runtime::install_senders(std::move(*Senders::start(2)));
    runtime::senders()->set_min_sends(1);
    publication.publish(video(0, true));
    std::vector<std::unique_ptr<Peer>> peers;
    for (int i = 0; i < 24; ++i) peers.push_back(std::make_unique<Peer>(stream, GetParam()));
    std::string expected = "HEAD <FIRST 0 VH|->[0 v]";
    uint32_t random = 1;
    const auto next = [&] { return (random = random * 1664525 + 1013904223) >> 16; };
    for (int i = 1; i <= 200; ++i) {
        const std::string payload(next() % 3000, 'x');
        publication.publish(video(40 * i, false, payload));
        expected += "[" + std::to_string(40 * i) + " " + payload + "]";
        settle(10);
        for (auto& peer : peers) {
            if (next() % 4 == 0) peer->client.viewer.send_control(base::Slice::copy("#"));
            if (next() % 4 == 0) peer->send("ping ");
            peer->read_some(next() % 8000);
        }
    }
    const auto all_done = [&] {
        return std::ranges::all_of(peers, [&](const auto& peer) { return peer->of_log().size() >= expected.size(); });
    };
    for (int i = 0; i < 5000 && !all_done(); ++i) {
        for (auto& peer : peers) peer->read_some(8000);
        settle(10);
    }
    settle(1200);  // the last writes are collected
    for (auto& peer : peers) {
        EXPECT_EQ(peer->of_log(), expected);
        EXPECT_FALSE(peer->client.ended) << peer->client.why;
        EXPECT_EQ(peer->client.viewer.counters().sent_bytes, peer->got.size());
        EXPECT_EQ(peer->client.input, peer->sent);
    }
    EXPECT_GT(runtime::senders()->stats().jobs, 200u);
    peers.clear();
}

}  // namespace
}  // namespace live
