#include "runtime/senders/senders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/clock.h"
#include "runtime/diagnose/cpu_profile.h"
#include "runtime/diagnose/watchdog.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/datagram_port.h"
#include "runtime/socket/udp.h"
#include "runtime/threads/processors.h"

namespace runtime {
namespace {

using testing::ok;
using Mode = Senders::Mode;

TEST(Processors, OfAQuota) {
    EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2u);
    EXPECT_EQ(parse_cpu_max("250000 100000\n"), 2u);
    EXPECT_EQ(parse_cpu_max("50000 100000\n"), 1u);
    EXPECT_EQ(parse_cpu_max("max 100000\n"), std::nullopt);
    EXPECT_EQ(parse_cpu_max("100000 0\n"), std::nullopt);
    EXPECT_EQ(parse_cpu_max(""), std::nullopt);
    EXPECT_GE(usable_processors(), 1u);
}

TEST(Processors, SenderThreads) {
    EXPECT_EQ(sender_threads("auto", 1), 0u);
    EXPECT_EQ(sender_threads("auto", 2), 0u);
    EXPECT_EQ(sender_threads("auto", 3), 2u);
    EXPECT_EQ(sender_threads("auto", 8), 7u);
    EXPECT_EQ(sender_threads("auto", 128), 15u);
    EXPECT_EQ(sender_threads("0", 8), 0u);
    EXPECT_EQ(sender_threads("16", 1), 16u);
}

// ---- Jobs

// The stream of a job, whose writes do what the test says.
struct Stream {
    std::string written;
    ssize_t takes = SSIZE_MAX;  // negative: an error
};

ByteStream::WriteResult write_parts(void* at, std::span<iovec> parts, DatagramSink&) {
    Stream& stream = *static_cast<Stream*>(at);
    if (stream.takes < 0) return {stream.takes};
    ssize_t taken = 0, wanted = 0;
    for (const iovec& part : parts) {
        wanted += static_cast<ssize_t>(part.iov_len);
        const size_t bytes = std::min(part.iov_len, static_cast<size_t>(stream.takes - taken));
        stream.written.append(static_cast<const char*>(part.iov_base), bytes);
        taken += static_cast<ssize_t>(bytes);
    }
    return {taken, taken < wanted};
}

class User : public SendJobUser {
  public:
    void on_send_done(SendJob& job) override { notices.push_back(&job); }
    std::vector<SendJob*> notices;
};

class SendersTest : public testing::RuntimeTest {
  protected:
    void start(Mode mode, size_t threads = 1) {
        auto started = Senders::start(threads, mode);
        ASSERT_TRUE(ok(started));
        senders = std::move(*started);
    }
    SendJob& lend(std::string_view text, uint32_t thread = 0, bool notice = false) {
        SendJob& job = senders->take_job();
        job.write = {&write_parts, &stream};
        job.user = &user;
        job.parts[0] = {const_cast<char*>(text.data()), text.size()};
        job.part_count = 1;
        job.notice = notice;
        EXPECT_TRUE(senders->lend(thread, job));
        return job;
    }

    Stream stream;
    User user;
    std::unique_ptr<Senders> senders;
};

TEST_F(SendersTest, AJobIsCollectedWhenItIsDone) {
    start(Mode::kManual);
    SendJob& job = lend("abc");
    EXPECT_FALSE(Senders::collect(job));
    EXPECT_EQ(senders->run(0), 1u);
    EXPECT_TRUE(Senders::collect(job));
    EXPECT_EQ(job.result.bytes, 3);
    EXPECT_EQ(stream.written, "abc");
    EXPECT_FALSE(Senders::collect(job)) << "once";
    senders->release(job);
    EXPECT_EQ(&senders->take_job(), &job) << "it is used again";
}

TEST_F(SendersTest, AQueuedJobIsRevoked) {
    start(Mode::kManual);
    SendJob& job = lend("abc");
    EXPECT_FALSE(senders->settle(job));
    senders->release(job);
    EXPECT_NE(&senders->take_job(), &job) << "the ring has it still";
    EXPECT_EQ(senders->run(0), 1u);
    EXPECT_EQ(stream.written, "");
    EXPECT_EQ(&senders->take_job(), &job);
    EXPECT_EQ(senders->stats().revoked, 1u);
}

TEST_F(SendersTest, ARunningJobIsAwaited) {
    start(Mode::kManual);
    SendJob& job = lend("abc");
    senders->begin_job(0);
    EXPECT_EQ(stream.written, "");
    EXPECT_TRUE(senders->settle(job));
    EXPECT_EQ(job.result.bytes, 3);
    EXPECT_EQ(stream.written, "abc");
}

TEST_F(SendersTest, ADoneJobIsSettledByItsResult) {
    start(Mode::kManual);
    SendJob& job = lend("abc");
    (void)senders->run(0);
    EXPECT_TRUE(senders->settle(job));
    EXPECT_EQ(job.result.bytes, 3);
}

TEST_F(SendersTest, AShortWriteAndAnErrorAreNoticed) {
    start(Mode::kManual);
    stream.takes = 2;
    SendJob& cut = lend("abc");
    (void)senders->run(0);
    stream.takes = -EPIPE;
    SendJob& failed = lend("abc");
    (void)senders->run(0);
    stream.takes = SSIZE_MAX;
    SendJob& whole = lend("abc");
    SendJob& wanted = lend("abc", 0, true);
    (void)senders->run(0);
    EXPECT_TRUE(user.notices.empty()) << "from the loop";
    ASSERT_TRUE(ok(sleep_ms(1)));
    std::ranges::sort(user.notices);
    std::vector<SendJob*> expected = {&cut, &failed, &wanted};
    std::ranges::sort(expected);
    EXPECT_EQ(user.notices, expected);
    EXPECT_EQ(cut.result.bytes, 2);
    EXPECT_EQ(failed.result.bytes, -EPIPE);
    for (SendJob* job : {&cut, &failed, &whole, &wanted}) EXPECT_TRUE(Senders::collect(*job));
}

TEST_F(SendersTest, OfACollectedJobThereIsNoNotice) {
    start(Mode::kManual);
    stream.takes = 1;
    SendJob& job = lend("abc");
    (void)senders->run(0);
    EXPECT_TRUE(senders->settle(job));
    senders->release(job);
    EXPECT_NE(&senders->take_job(), &job) << "the list of notices has it still";
    ASSERT_TRUE(ok(sleep_ms(1)));
    EXPECT_TRUE(user.notices.empty());
    EXPECT_EQ(&senders->take_job(), &job);
}

TEST_F(SendersTest, AFullLaneTakesNoMore) {
    start(Mode::kManual);
    size_t lent = 0;
    std::vector<SendJob*> jobs;
    while (true) {
        SendJob& job = senders->take_job();
        job.write = {&write_parts, &stream};
        job.user = &user;
        if (!senders->lend(0, job)) {
            senders->release(job);
            break;
        }
        jobs.push_back(&job);
        ++lent;
    }
    EXPECT_GT(lent, 10'000u);
    EXPECT_EQ(senders->stats().jobs_refused, 1u);
    EXPECT_EQ(senders->run(0), lent);
    for (SendJob* job : jobs) {
        EXPECT_TRUE(Senders::collect(*job));
        senders->release(*job);
    }
    (void)lend("abc");
    EXPECT_EQ(senders->run(0), 1u);
}

TEST_F(SendersTest, AFewInSuccessionHaveTheSameThread) {
    start(Mode::kManual, 2);
    std::string threads;
    for (int i = 0; i < 24; ++i) threads += static_cast<char>('0' + senders->assign_thread());
    EXPECT_EQ(threads, "000000001111111100000000");
}

TEST_F(SendersTest, TakesManySendsAndWhatFollowsUnfinishedOnes) {
    start(Mode::kManual, 2);
    EXPECT_FALSE(senders->takes(0));
    senders->lend_round(true);
    EXPECT_TRUE(senders->takes(0));
    SendJob& job = lend("abc");
    senders->lend_round(false);
    EXPECT_TRUE(senders->takes(0));
    EXPECT_FALSE(senders->takes(1));
    (void)senders->run(0);
    EXPECT_FALSE(senders->takes(0));
    EXPECT_TRUE(Senders::collect(job));
}

TEST(SendersRule, ABusyLoopLendsSmallerRounds) {
    const auto lent = [](size_t min_sends, int64_t busy_percent) {
        std::string sizes;
        for (const size_t sends : {0, 1, 7, 8, 31, 32, 1000})
            if (Senders::is_worth_lending(sends, min_sends, busy_percent)) sizes += fmt::format("{} ", sends);
        return sizes;
    };
    EXPECT_EQ(lent(8, 0), "32 1000 ");
    EXPECT_EQ(lent(8, 24), "32 1000 ");
    EXPECT_EQ(lent(8, 25), "8 31 32 1000 ");
    EXPECT_EQ(lent(8, 49), "8 31 32 1000 ");
    EXPECT_EQ(lent(8, 50), "1 7 8 31 32 1000 ");
    EXPECT_EQ(lent(1, 0), "1 7 8 31 32 1000 ");
    EXPECT_EQ(lent(0, 0), "1 7 8 31 32 1000 ");
    EXPECT_EQ(lent(1000, 100), "1 7 8 31 32 1000 ");
}

TEST_F(SendersTest, AnIdleLoopLendsLargeRounds) {
    start(Mode::kManual);
    EXPECT_TRUE(senders->takes_round(32));
    EXPECT_FALSE(senders->takes_round(31));
    senders->set_min_sends(0);
    EXPECT_TRUE(senders->takes_round(1));
}

TEST_F(SendersTest, IsPublishedInTheSameIteration) {
    start(Mode::kThreads);
    SendJob& job = lend("abc");
    const int64_t until_us = now_us() + 5'000'000;
    while (!Senders::collect(job) && now_us() < until_us) (void)sleep_ms(1);
    EXPECT_EQ(stream.written, "abc");
}

TEST_F(SendersTest, ARingsEndIsPassedWithoutAnEntryBehindIt) {
    start(Mode::kManual);
    constexpr size_t kLarge = 60'000;
    // The room at the ring's end is too small: it is skipped, and nothing is committed behind it.
    for (size_t used = 0; used + kLarge + 200 < detail::SenderRing::kBytes; used += kLarge) {
        ASSERT_TRUE(senders->reserve_datagram(0, kLarge - 200));
        senders->commit_datagram(0, kLarge - 200, {.fd = -1});
    }
    // They have no socket, and none is written.
    (void)lend("abc");
    senders->drain();
    ASSERT_TRUE(senders->reserve_datagram(0, kLarge));
    senders->drain();
    EXPECT_FALSE(senders->takes(0));
}

// Many jobs of many sizes over one socket pair, revoked at random: what arrives is what was sent, in order.
TEST_F(SendersTest, ThreadsWriteWhatTheLoopLends) {
    start(Mode::kThreads, 2);
    struct Peer {
        int fds[2];
        std::string sent, came;
    };
    std::array<Peer, 4> peers;
    for (Peer& peer : peers) ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, peer.fds), 0);
    uint64_t random = 1;
    const auto next = [&] { return random = random * 6364136223846793005u + 1442695040888963407u, random >> 40; };
    std::string text(4096, 'x');
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
    for (int round = 0; round < 20'000; ++round) {
        Peer& peer = peers[next() % peers.size()];
        SendJob& job = senders->take_job();
        const auto write_some = [](void* at, std::span<iovec> parts, DatagramSink&) -> ByteStream::WriteResult {
            const ssize_t n = writev(*static_cast<int*>(at), parts.data(), static_cast<int>(parts.size()));
            return {n >= 0 ? n : -errno};
        };
        job.write = {write_some, &peer.fds[0]};
        job.user = &user;
        const size_t from = next() % 100, bytes = 1 + next() % 1000;
        job.parts[0] = {text.data() + from, bytes};
        job.part_count = 1;
        ASSERT_TRUE(senders->lend(static_cast<uint32_t>(&peer - peers.data()) % 2, job));
        if (next() % 4 != 0) senders->publish();
        if (next() % 8 == 0) (void)sleep_ms(0);
        if (senders->settle(job)) {
            ASSERT_TRUE(job.result.bytes >= 0 || job.result.bytes == -EAGAIN);
            if (job.result.bytes > 0) peer.sent.append(text, from, static_cast<size_t>(job.result.bytes));
        }
        senders->release(job);
        char came[8192];
        for (ssize_t n; (n = read(peer.fds[1], came, sizeof came)) > 0;) peer.came.append(came, static_cast<size_t>(n));
    }
    senders->drain();
    for (Peer& peer : peers) {
        EXPECT_EQ(peer.came, peer.sent);
        close(peer.fds[0]);
        close(peer.fds[1]);
    }
    const SenderStats stats = senders->stats();
    EXPECT_EQ(stats.jobs, 20'000u);
    EXPECT_GT(stats.threads[0].entries + stats.threads[1].entries, 1'000u);
}

// ---- Records

struct Letters {
    char letter;
    uint32_t bytes;
    const char* from;  // where not null: what is copied
};

class LettersRoute final : public DatagramRoute {
  public:
    using DatagramRoute::DatagramRoute;
    ~LettersRoute() override { ++ended; }
    size_t write(const void* record, uint8_t* out) const override {
        const auto& letters = *static_cast<const Letters*>(record);
        if (letters.from)
            std::memcpy(out, letters.from, letters.bytes);
        else
            std::memset(out, letters.letter, letters.bytes);
        return letters.bytes;
    }
    static inline int ended = 0;
};

class RecordsTest : public SendersTest, public ::testing::WithParamInterface<Mode> {
  protected:
    void SetUp() override {
        SendersTest::SetUp();
        start(GetParam());
        receiver = std::move(*bind_udp({"127.0.0.1", 0}, {.receive_buffer_bytes = 4 << 20}));
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        ASSERT_GE(fd, 0);
        route = route_to(receiver->port());
    }
    void TearDown() override {
        senders->drain();
        close(fd);
    }
    std::unique_ptr<LettersRoute> route_to(uint16_t port) const {
        return std::make_unique<LettersRoute>(
            DatagramTarget{.fd = fd, .gso = true, .to = {*base::IpAddress::parse("127.0.0.1"), port}});
    }
    bool put(const Letters& letters, const DatagramRoute& by) {
        void* room = senders->reserve(0, sizeof letters);
        if (!room) return false;
        std::memcpy(room, &letters, sizeof letters);
        senders->commit(0, sizeof letters, by, 2000, 0);
        return true;
    }
    bool put(const Letters& letters) { return put(letters, *route); }
    void publish() {
        senders->publish();
        if (GetParam() == Mode::kManual) (void)senders->run(0);
    }
    std::string arrived(size_t count) {
        std::string text;
        while (count > 0) {
            auto got = receiver->receive_batch(Deadline::in_ms(5000));
            if (!got) return text + got.error().describe();
            for (const UdpPacket& packet : *got) {
                text += fmt::format("{}{} ", static_cast<char>(packet.bytes[0]), packet.bytes.size());
                --count;
            }
        }
        return text;
    }

    std::unique_ptr<UdpSocket> receiver;
    std::unique_ptr<LettersRoute> route;
    int fd = -1;
};
INSTANTIATE_TEST_SUITE_P(Modes, RecordsTest, ::testing::Values(Mode::kThreads, Mode::kManual));

TEST_P(RecordsTest, AreSentInOrder) {
    for (char letter = 'a'; letter <= 'e'; ++letter) ASSERT_TRUE(put({letter, 1000, nullptr}));
    ASSERT_TRUE(put({'f', 300, nullptr}));
    publish();
    EXPECT_EQ(arrived(6), "a1000 b1000 c1000 d1000 e1000 f300 ");
    senders->drain();
    EXPECT_EQ(senders->stats().threads[0].sent, 6u);
}

TEST_P(RecordsTest, MoreThanARingIsCountedOrSent) {
    size_t sent = 0;
    for (int i = 0; i < 30'000; ++i) sent += put({'x', 10, nullptr});
    publish();
    senders->drain();
    const SenderStats stats = senders->stats();
    EXPECT_EQ(stats.records, sent);
    EXPECT_EQ(stats.records_lost, 30'000 - sent);
    EXPECT_EQ(stats.threads[0].sent + stats.threads[0].lost, sent);
}

TEST_P(RecordsTest, WhatARecordPointsToIsKept) {
    base::Slice payload = base::Slice::copy("payload");
    const char* bytes = reinterpret_cast<const char*>(payload.data());
    ASSERT_TRUE(put({0, 7, bytes}));
    senders->retire(std::exchange(payload, {}));
    EXPECT_EQ(senders->stats().retired, 7u);
    publish();
    EXPECT_EQ(arrived(1), "p7 ");
    senders->drain();
    EXPECT_EQ(senders->stats().retired, 0u);
}

TEST_P(RecordsTest, WhatHasNoWayIsLost) {
    const auto nowhere = route_to(0);
    ASSERT_TRUE(put({'a', 10, nullptr}, *nowhere));
    ASSERT_TRUE(put({'b', 10, nullptr}));
    publish();
    EXPECT_EQ(arrived(1), "b10 ");
    senders->drain();
    EXPECT_EQ(senders->stats().threads[0].lost, 1u);
}

TEST_F(SendersTest, ARouteIsKeptUntilItsRecordsAreSent) {
    install_senders(std::move(*Senders::start(1, Mode::kManual)));
    Senders& threads = *runtime::senders();
    LettersRoute::ended = 0;
    RoutePtr<LettersRoute> used(new LettersRoute(DatagramTarget{}));
    const Letters nothing{'x', 0, nullptr};
    std::memcpy(threads.reserve(0, sizeof nothing), &nothing, sizeof nothing);
    threads.commit(0, sizeof nothing, *used, 10, 0);
    used.reset();
    EXPECT_EQ(LettersRoute::ended, 0);
    EXPECT_EQ(threads.run(0), 1u);
    EXPECT_EQ(LettersRoute::ended, 1);
    RoutePtr<LettersRoute>(new LettersRoute(DatagramTarget{})).reset();
    EXPECT_EQ(LettersRoute::ended, 2) << "at once, where no thread has work";
    stop_senders();
    RoutePtr<LettersRoute>(new LettersRoute(DatagramTarget{})).reset();
    EXPECT_EQ(LettersRoute::ended, 3);
}

// Answers each datagram from a thread, from the address that was asked.
class Answers : public DatagramUser {
  public:
    void on_datagram(const UdpPacket& packet, DatagramPort& port, int64_t) override {
        const uint16_t source = port.source_for(packet.from, packet.destination);
        std::ranges::copy(packet.bytes, senders()->reserve_datagram(0, packet.bytes.size()));
        senders()->commit_datagram(0, packet.bytes.size(), port.target(packet.from, source));
    }
};

TEST_F(SendersTest, DatagramsComeFromTheAddressThatWasAsked) {
    install_senders(std::move(*Senders::start(1)));
    Answers user;
    auto port = DatagramPort::open({"0.0.0.0", 0}, {.reports_destination = true}, "test", user);
    auto client = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(port) && ok(client));
    std::string answers;
    for (const char* ip : {"127.0.0.2", "127.0.0.1", "127.0.0.3", "127.0.0.2"}) {
        const std::array<uint8_t, 4> question{};
        ASSERT_TRUE(
            ok((*client)->send_to(question, {*base::IpAddress::parse(ip), (*port)->port()}, Deadline::never())));
        auto got = (*client)->receive_batch(Deadline::in_ms(5000));
        ASSERT_TRUE(ok(got));
        answers += got->front().from.ip.text().back();
    }
    EXPECT_EQ(answers, "2132");
    const UdpStats totals = udp_totals();
    EXPECT_GE(totals.sent, 8u) << "those of threads are counted";
    port->reset();
    stop_senders();
}

// ---- Stalls

ByteStream::WriteResult write_slowly(void* stream, std::span<iovec> parts, DatagramSink& sink) {
    usleep(300'000);
    return write_parts(stream, parts, sink);
}

TEST_F(SendersTest, TheWatchdogReportsACallThatHangs) {
    ASSERT_TRUE(ok(watch_stalls(40)));
    start(Mode::kThreads, 2);
    SendJob& quick = lend("abc", 0);
    SendJob& job = senders->take_job();
    Stream other;
    job.write = {&write_slowly, &other};
    job.user = &user;
    job.part_count = 0;
    ASSERT_TRUE(senders->lend(1, job));
    senders->publish();
    // On a busy machine a thread may also wait for a processor.
    const auto hung = [] {
        const auto& all = loop_stats().last_of_threads;
        return std::ranges::find_if(all, [](const Stall& one) { return one.cause != StallCause::kNotScheduled; });
    };
    const auto& stalls = loop_stats().last_of_threads;
    for (int i = 0; i < 300 && hung() == stalls.end(); ++i) EXPECT_TRUE(ok(sleep_ms(10)));
    ASSERT_TRUE(ok(watch_stalls(0)));
    ASSERT_NE(hung(), stalls.end());
    const Stall stall = *hung();
    EXPECT_EQ(stall.thread, "sender thread 1");
    EXPECT_EQ(stall.cause, StallCause::kBlocked);
    EXPECT_GE(stall.ms, 100);
    EXPECT_TRUE(stall.describe().starts_with("sender thread 1 stalled for ")) << stall.describe();
    EXPECT_GE(senders->stats().threads[1].stalls.count, 1u);
    EXPECT_GE(senders->stats().threads[1].stalls.longest_ms, stall.ms);
    EXPECT_TRUE(Senders::collect(quick));
    EXPECT_TRUE(senders->settle(job));
    senders->release(quick);
    senders->release(job);
}

// ---- Profiles

__attribute__((noinline, noclone)) void hot_write_of_the_test() {
    volatile uint64_t sum = 0;
    for (const int64_t end_us = base::monotonic_us() + 5000; base::monotonic_us() < end_us;)
        for (int i = 0; i < 10'000; ++i) sum = sum + 1;
}

ByteStream::WriteResult write_busily(void*, std::span<iovec>, DatagramSink&) {
    hot_write_of_the_test();
    asm volatile("");  // not a tail call
    return {};
}

TEST_F(SendersTest, ACpuProfileHasTheirStacks) {
    start(Mode::kThreads, 2);
    for (uint32_t thread : {0, 1}) {  // they run
        SendJob& job = lend("abc", thread);
        senders->publish();
        while (!Senders::collect(job)) ASSERT_TRUE(ok(sleep_ms(1)));
        senders->release(job);
    }
    bool over = false;
    auto lender = spawn("lender", [&] {
        while (!over) {
            SendJob& job = senders->take_job();
            job.write = {&write_busily, &stream};
            job.user = &user;
            job.part_count = 0;
            EXPECT_TRUE(senders->lend(1, job));
            (void)sleep_ms(6);
            (void)senders->settle(job);
            senders->release(job);
        }
    });
    auto profile = record_cpu_profile({.duration_ms = 1500});
    over = true;
    EXPECT_TRUE(ok(lender.join(Deadline::in_ms(5000))));
    ASSERT_TRUE(ok(profile));
    ASSERT_EQ(profile->threads.size(), 2u);
    EXPECT_EQ(profile->threads[1].name, "sender thread 1");
    EXPECT_GT(profile->threads[1].records.size(), profile->threads[0].records.size());
    const std::string folded = profile->to_folded(Symbols::get());
    const size_t at = folded.find("hot_write_of_the_test");
    ASSERT_NE(at, std::string::npos) << folded;
    const std::string line = folded.substr(folded.rfind('\n', at) + 1);
    EXPECT_TRUE(line.starts_with("sender thread 1;")) << line;
    EXPECT_GE(profile->to_pprof().size(), (profile->records.size() + profile->threads[1].records.size()) * 8);
}

}  // namespace
}  // namespace runtime
