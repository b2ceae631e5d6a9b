// UDP, DNS, child processes, signals, workers, and their shutdown.

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/loop/signals.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/dns.h"
#include "runtime/socket/stream_testing.h"
#include "runtime/socket/tcp.h"
#include "runtime/socket/udp.h"
#include "runtime/threads/process.h"
#include "runtime/threads/workers.h"

namespace runtime {
namespace {

using base::Code;
using testing::bytes;
using testing::failed_with;
using testing::ok;
using testing::soon;

class UdpTest : public testing::RuntimeTest {};
class DnsTest : public testing::RuntimeTest {};
class ProcessTest : public testing::RuntimeTest {};
class SignalsTest : public testing::RuntimeTest {};
class WorkersTest : public testing::RuntimeTest {};
class ShutdownTest : public testing::RuntimeTest {};

base::Endpoint here(uint16_t port) { return {*base::IpAddress::parse("127.0.0.1"), port}; }

TEST_F(UdpTest, TheKernelsDropsAreCounted) {
    const UdpStats before = udp_totals();
    auto receiver = bind_udp({"127.0.0.1", 0}, {.receive_buffer_bytes = 4096});
    auto sender = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(receiver));
    ASSERT_TRUE(ok(sender));
    EXPECT_EQ(udp_sockets(), 2u);
    static_cast<void>(measure_udp());
    const base::Endpoint to = here((*receiver)->port());
    // The socket is not read meanwhile: what does not fit the buffer is lost.
    std::array<uint8_t, 1000> bytes{};
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(ok((*sender)->send_to(bytes, to, Deadline::in_ms(1000))));
    uint64_t received = 0;
    while (auto some = (*receiver)->receive_batch(Deadline::in_ms(50))) received += some->size();
    const UdpStats got = (*receiver)->stats();
    EXPECT_EQ(got.received, received);
    EXPECT_EQ(got.received + got.receive_lost, 200u);
    EXPECT_GT(got.receive_lost, 100u);
    EXPECT_EQ((*sender)->stats().sent, 200u);
    EXPECT_EQ((*sender)->stats().send_lost, 0u);
    EXPECT_GT(measure_udp().receive_lost, 0u);
    EXPECT_TRUE(udp_rate().has_loss());
    receiver->reset();
    sender->reset();
    EXPECT_EQ(udp_sockets(), 0u);
    // The losses of a closed socket still count.
    EXPECT_EQ(udp_totals().receive_lost, before.receive_lost + got.receive_lost);
    EXPECT_EQ(measure_udp().loss(), "loss=(r:0,s:0)");
}

TEST(UdpRate, IsPerSecond) {
    const UdpStats before{100, 50, 10, 3};
    const UdpRate rate = udp_rate_between(before, {300, 50, 108, 3}, 2000);
    EXPECT_EQ(rate.received, 100u);
    EXPECT_EQ(rate.sent, 0u);
    EXPECT_EQ(rate.loss(), "loss=(r:49,s:0)");
    // One lost datagram is never rounded down to none.
    EXPECT_EQ(udp_rate_between(before, {100, 50, 10, 4}, 60'000).loss(), "loss=(r:0,s:1)");
    EXPECT_FALSE(udp_rate_between(before, before, 0).has_loss());
}

TEST_F(UdpTest, Echo) {
    auto one = bind_udp({"127.0.0.1", 0});
    auto two = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(one) && ok(two));
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(ok((*one)->send_to(bytes("question"), here((*two)->port()), soon())));
        auto got = (*two)->receive_batch(soon());
        ASSERT_TRUE(ok(got));
        ASSERT_EQ(got->size(), 1u);
        EXPECT_EQ(got->front().bytes.size(), 8u);
        const base::Endpoint from = got->front().from;
        EXPECT_EQ(from, here((*one)->port()));
        ASSERT_TRUE(ok((*two)->send_to(bytes("yes"), from, soon())));
        auto answer = (*one)->receive_batch(soon());
        ASSERT_TRUE(ok(answer));
        EXPECT_EQ(answer->front().bytes.size(), 3u);
    }
    EXPECT_TRUE(failed_with((*two)->receive_batch(Deadline::in_ms(10)), Code::kTimeout));
    auto reader = spawn("reader", [&] { EXPECT_TRUE(failed_with((*two)->receive_batch(soon()), Code::kCancelled)); });
    ASSERT_TRUE(ok(yield()));
    reader.cancel_and_join();
}

TEST_F(DnsTest, NumericAddressesAnswerAtOnce) {
    for (const char* ip : {"127.0.0.1", "::1", "192.0.2.7"}) {
        auto addresses = resolve(ip, soon());
        ASSERT_TRUE(ok(addresses));
        EXPECT_EQ(*addresses, std::vector<std::string>{ip});
    }
}

TEST_F(DnsTest, Localhost) {
    auto addresses = resolve("localhost", soon());
    ASSERT_TRUE(ok(addresses));
    EXPECT_EQ(addresses->front(), "127.0.0.1");
}

// Without a network the deadline ends it.
TEST_F(DnsTest, UnknownNameEndsInTime) {
    const int64_t start = base::monotonic_ms();
    auto addresses = resolve("no-such-host.invalid", Deadline::in_ms(1000));
    EXPECT_LT(base::monotonic_ms() - start, 1500);
    ASSERT_FALSE(addresses);
    EXPECT_TRUE(addresses.error().code() == Code::kNotFound || addresses.error().code() == Code::kTimeout);
    EXPECT_NE(addresses.error().text().find("no-such-host.invalid"), std::string::npos);
}

TEST_F(DnsTest, StrangeNames) {
    for (const std::string& name : {std::string(), std::string(5000, 'a'), std::string("a b"), std::string("..")}) {
        EXPECT_FALSE(resolve(name, Deadline::in_ms(300)));
    }
}

TEST_F(DnsTest, Cancelled) {
    auto task = spawn("resolver", [] {
        auto addresses = resolve("no-such-host.invalid", soon());
        ASSERT_FALSE(addresses);
    });
    ASSERT_TRUE(ok(yield()));
    const int64_t start = base::monotonic_ms();
    task.cancel_and_join();
    EXPECT_LT(base::monotonic_ms() - start, 500);
}

TEST_F(ProcessTest, ExitCode) {
    auto process = start_process({{"sh", "-c", "exit 7"}, ""}, soon());
    ASSERT_TRUE(ok(process));
    EXPECT_GT((*process)->pid(), 0);
    auto exit = (*process)->wait(soon());
    ASSERT_TRUE(ok(exit));
    EXPECT_EQ(exit->code, 7);
    EXPECT_EQ(exit->signal, 0);
    EXPECT_EQ((*process)->wait(soon()).value_or(Process::Exit{}).code, 7);  // again
    (*process)->send_signal(SIGTERM);                                       // has no effect
}

TEST_F(ProcessTest, SignalAndDeadline) {
    auto process = start_process({{"sleep", "100"}, ""}, soon());
    ASSERT_TRUE(ok(process));
    EXPECT_TRUE(failed_with((*process)->wait(Deadline::in_ms(30)), Code::kTimeout));
    (*process)->send_signal(SIGTERM);
    auto exit = (*process)->wait(soon());
    ASSERT_TRUE(ok(exit));
    EXPECT_EQ(exit->signal, SIGTERM);
}

TEST_F(ProcessTest, DestroyingKills) {
    auto process = start_process({{"sh", "-c", "sleep 100; true"}, ""}, soon());
    ASSERT_TRUE(ok(process));
    const pid_t pid = (*process)->pid();
    ASSERT_TRUE(ok(sleep_ms(20)));
    process->reset();
    for (int i = 0; i < 100 && kill(pid, 0) == 0; ++i) ASSERT_TRUE(ok(sleep_ms(10)));
    EXPECT_LT(kill(pid, 0), 0);  // reaped too
}

TEST_F(ProcessTest, ProgramThatIsNotThere) {
    auto process = start_process({{"/nonexistent/ffmpeg"}, ""}, soon());
    ASSERT_TRUE(failed_with(process, Code::kSystem));
    EXPECT_EQ(process.error().system_errno(), ENOENT);
    EXPECT_NE(process.error().text().find("/nonexistent/ffmpeg"), std::string::npos);
    EXPECT_FALSE(start_process({}, soon()));
}

TEST_F(ProcessTest, OutputIsAppendedAndDescriptorsStayHere) {
    auto listener = listen_tcp({"127.0.0.1", 0});
    char path[] = "/tmp/process_test.XXXXXX";
    ::close(mkstemp(path));
    for (int i = 0; i < 2; ++i) {
        auto process = start_process(
            {{"sh", "-c", "echo out; echo err >&2; ls /proc/self/fd | tr '\\n' ' '; echo"}, path}, soon());
        ASSERT_TRUE(ok(process));
        ASSERT_TRUE(ok((*process)->wait(soon())));
    }
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    EXPECT_EQ(all.str(), "out\nerr\n0 1 2 3 \nout\nerr\n0 1 2 3 \n");  // 3 was opened by ls itself
    unlink(path);
}

TEST_F(ProcessTest, ErrorsInAnotherFileWithoutSecrets) {
    char out[] = "/tmp/process_test.XXXXXX", err[] = "/tmp/process_test.XXXXXX";
    ::close(mkstemp(out));
    ::close(mkstemp(err));
    setenv("SECRET_OF_TEST", "1", 1);
    setenv("OTHER_OF_TEST", "2", 1);
    auto process = start_process(
        {{"sh", "-c", "echo err >&2; env | grep OF_TEST; read line && echo input; echo $$"}, out, err, {"SECRET_"}},
        soon());
    ASSERT_TRUE(ok(process));
    ASSERT_TRUE(ok((*process)->wait(soon())));
    std::stringstream written, errors;
    written << std::ifstream(out).rdbuf();
    errors << std::ifstream(err).rdbuf();
    EXPECT_EQ(written.str(), fmt::format("OTHER_OF_TEST=2\n{}\n", (*process)->pid()));
    EXPECT_EQ(errors.str(), "err\n");
    unlink(out);
    unlink(err);
    auto without_log = start_process({{"true"}, "/nonexistent/log"}, soon());
    ASSERT_FALSE(without_log);
    EXPECT_NE(without_log.error().text().find("its output /nonexistent/log"), std::string::npos);
}

TEST_F(ProcessTest, FindsPrograms) {
    EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
    EXPECT_TRUE(find_program("sh").ends_with("/sh")) << find_program("sh");
    for (const char* none : {"", "/", "/etc", "/etc/passwd", "/nonexistent/ffmpeg", "no-such-program"})
        EXPECT_EQ(find_program(none), "") << none;
}

TEST_F(ProcessTest, ProcessorTimeIsCounted) {
    auto process = start_process({{"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"}, ""}, soon());
    ASSERT_TRUE(ok(process));
    auto exit = (*process)->wait(soon());
    ASSERT_TRUE(ok(exit));
    EXPECT_GT(exit->cpu_us, 1'000);
}

// What a child has started is not left behind when the child ends.
TEST_F(ProcessTest, TheGroupEndsWithItsLeader) {
    char out[] = "/tmp/process_test.XXXXXX";
    ::close(mkstemp(out));
    auto process = start_process({{"sh", "-c", "sleep 100 & echo $!"}, out}, soon());
    ASSERT_TRUE(ok(process));
    ASSERT_TRUE(ok((*process)->wait(soon())));
    pid_t left = 0;
    std::ifstream(out) >> left;
    ASSERT_GT(left, 0);
    // Where nobody reaps orphans it is a zombie afterwards.
    const auto lives = [&] {
        std::ifstream stat(fmt::format("/proc/{}/stat", left));
        std::string id, name, state;
        return stat >> id >> name >> state && state != "Z";
    };
    for (int i = 0; i < 100 && lives(); ++i) ASSERT_TRUE(ok(sleep_ms(10)));
    EXPECT_FALSE(lives()) << "process " << left << " should be gone";
    unlink(out);
}

TEST_F(ProcessTest, CancelledWhileWaiting) {
    auto process = start_process({{"sleep", "100"}, ""}, soon());
    ASSERT_TRUE(ok(process));
    auto task = spawn("waiter", [&] { EXPECT_TRUE(failed_with((*process)->wait(soon()), Code::kCancelled)); });
    ASSERT_TRUE(ok(sleep_ms(2)));
    task.cancel_and_join();
}

TEST_F(SignalsTest, Next) {
    auto signals = watch_signals({SIGUSR1, SIGHUP});
    ASSERT_TRUE(ok(signals));
    EXPECT_TRUE(failed_with((*signals)->next(Deadline::in_ms(10)), Code::kTimeout));
    kill(getpid(), SIGUSR1);
    EXPECT_EQ((*signals)->next(soon()).value_or(0), SIGUSR1);
    auto task = spawn("waiter", [&] { EXPECT_EQ((*signals)->next(soon()).value_or(0), SIGHUP); });
    ASSERT_TRUE(ok(sleep_ms(2)));
    kill(getpid(), SIGHUP);
    EXPECT_TRUE(ok(task.join(soon())));
    auto cancelled = spawn("waiter", [&] { EXPECT_TRUE(failed_with((*signals)->next(soon()), Code::kCancelled)); });
    ASSERT_TRUE(ok(sleep_ms(2)));
    cancelled.cancel_and_join();
}

TEST_F(SignalsTest, ABrokenPipeIsNoSignal) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ::close(ends[0]);
    EXPECT_LT(::write(ends[1], "x", 1), 0);
    ::close(ends[1]);
}

TEST_F(WorkersTest, RunsElsewhereWhileTheLoopGoesOn) {
    std::thread::id where;
    int turns = 0;
    bool done = false;
    auto other = spawn("other", [&] {
        while (!done) {
            ++turns;
            EXPECT_TRUE(ok(sleep_ms(1)));
        }
    });
    ASSERT_TRUE(ok(offload(
        [&] {
            where = std::this_thread::get_id();
            usleep(30'000);
        },
        soon())));
    done = true;
    EXPECT_TRUE(ok(other.join(soon())));
    EXPECT_NE(where, std::this_thread::get_id());
    EXPECT_GE(turns, 5);
}

TEST_F(WorkersTest, TwoAtOnce) {
    const int64_t start = base::monotonic_ms();
    std::vector<Task> tasks;
    for (int i = 0; i < 4; ++i) {
        tasks.push_back(spawn("caller", [] { EXPECT_TRUE(ok(offload([] { usleep(50'000); }, soon()))); }));
    }
    for (auto& task : tasks) EXPECT_TRUE(ok(task.join(soon())));
    EXPECT_GE(base::monotonic_ms() - start, 95);
    EXPECT_LT(base::monotonic_ms() - start, 190);
}

TEST_F(WorkersTest, TheJobRunsOnWithoutItsCaller) {
    auto ran = std::make_shared<std::atomic<int>>(0);
    const auto job = [ran] {
        usleep(30'000);
        ++*ran;
    };
    EXPECT_TRUE(failed_with(offload(job, Deadline::in_ms(5)), Code::kTimeout));
    auto task = spawn("caller", [&] { EXPECT_TRUE(failed_with(offload(job, soon()), Code::kCancelled)); });
    ASSERT_TRUE(ok(sleep_ms(2)));
    task.cancel_and_join();
    for (int i = 0; i < 100 && *ran < 2; ++i) ASSERT_TRUE(ok(sleep_ms(5)));
    EXPECT_EQ(*ran, 2);
}

// Required for a watched descriptor.
TEST_F(WorkersTest, WhatAJobOwnsIsReleasedOnTheLoop) {
    struct Owned {
        std::thread::id& where;
        ~Owned() { where = std::this_thread::get_id(); }
    };
    std::thread::id where;
    auto owned = std::make_shared<Owned>(where);
    EXPECT_TRUE(
        failed_with(offload([owned = std::move(owned)] { usleep(30'000); }, Deadline::in_ms(5)), Code::kTimeout));
    for (int i = 0; i < 1000 && where == std::thread::id(); ++i) ASSERT_TRUE(ok(sleep_ms(5)));
    EXPECT_EQ(where, std::this_thread::get_id());
}

TEST_F(WorkersTest, TheQueueIsBounded) {
    auto go = std::make_shared<std::atomic<bool>>(false);
    std::vector<Task> tasks;
    int limited = 0;
    for (int i = 0; i < 1100; ++i) {
        tasks.push_back(spawn("caller",
                              [&limited, go] {
                                  auto done = offload(
                                      [go] {
                                          while (!*go) usleep(1000);
                                      },
                                      soon());
                                  if (!done && done.error().code() == Code::kLimit) ++limited;
                              },
                              {.stack_bytes = 32 * 1024}));
    }
    ASSERT_TRUE(ok(sleep_ms(10)));
    EXPECT_GE(limited, 1100 - 1024 - 2);
    *go = true;
    for (auto& task : tasks) EXPECT_TRUE(ok(task.join(soon())));
    EXPECT_LE(limited, 1100 - 1024);
}

// Everything that was started is stopped, and can be started again.
TEST_F(ShutdownTest, EndsAllAndStartsAgain) {
    const auto open_descriptors = [] {
        int count = 0;
        for (int fd = 0; fd < 1000; ++fd) count += fcntl(fd, F_GETFD) >= 0;
        return count;
    };
    shutdown();
    const int before = open_descriptors();
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(ok(init()));
        EXPECT_TRUE(ok(resolve("localhost", soon())));
        static_cast<void>(resolve("no-such-host.invalid", Deadline::in_ms(1)));
        EXPECT_TRUE(ok(offload([] {}, soon())));
        { auto process = start_process({{"sleep", "100"}, ""}, soon()); }
        { auto listener = listen_tcp({"", 0}); }
        shutdown();
        EXPECT_EQ(open_descriptors(), before);
    }
    ASSERT_TRUE(ok(init()));
}

}  // namespace
}  // namespace runtime
