// The event loop's design goal: a wake-up costs the same with 10 and with 9,000 connections.

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/loop/reactor.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/tcp_stream.h"

namespace runtime {
namespace {

using testing::ok;

class LoopTest : public testing::RuntimeTest {
  protected:
    struct Cost {
        double us = 0;      // of CPU time, median of the rounds, per loop
        double passes = 0;  // iterations of the coroutine that drains events, per loop
        double events = 0;  // fetched, per loop
    };

    void SetUp() override {
        RuntimeTest::SetUp();
        rlimit files;
        getrlimit(RLIMIT_NOFILE, &files);
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        many_ = static_cast<int>(std::min<rlim_t>(9000, (files.rlim_cur - 200) / 2));
    }
    void TearDown() override {
        for (auto& reader : readers_) reader.cancel_and_join();
        for (int fd : ends_) ::close(fd);
    }

    void grow_to(int count) {
        while (static_cast<int>(streams_.size()) < count) {
            int ends[2];
            ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
            ends_.push_back(ends[1]);
            auto stream = detail::TcpStream::make(ends[0], {});
            ASSERT_TRUE(ok(stream));
            streams_.push_back(*std::move(stream));
            readers_.push_back(spawn("reader", [this, stream = streams_.back().get()] {
                while (read_shared(*stream, Deadline::in_ms(60'000))) ++reads_;
            }));
        }
        // Until the set has reported each as writable.
        uint64_t seen = 0;
        do {
            seen = detail::reactor_counters().events;
            ASSERT_TRUE(ok(sleep_ms(10)));
        } while (detail::reactor_counters().events != seen);
    }

    static double cpu_us() {
        timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
    }

    Cost measure() {
        constexpr int kRounds = 31;
        constexpr int kLoops = 200;
        const auto before = detail::reactor_counters();
        std::vector<double> rounds;
        for (int round = 0; round < kRounds; ++round) {
            const double start = cpu_us();
            for (int i = 0; i < kLoops; ++i) {
                const int reads = reads_;
                EXPECT_EQ(::write(ends_.front(), "x", 1), 1);
                while (reads_ == reads) EXPECT_TRUE(ok(yield()));
            }
            rounds.push_back((cpu_us() - start) / kLoops);
        }
        std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
        const auto after = detail::reactor_counters();
        const double loops = kRounds * kLoops;
        return {rounds[kRounds / 2], static_cast<double>(after.iterations - before.iterations) / loops,
                static_cast<double>(after.events - before.events) / loops};
    }

    int many_ = 0;
    int reads_ = 0;
    std::vector<std::unique_ptr<ByteStream>> streams_;
    std::vector<int> ends_;
    std::vector<Task> readers_;
};

TEST_F(LoopTest, AWakeUpCostsTheSameAmongTenAndAmongNineThousand) {
    if (many_ < 1000) GTEST_SKIP() << "too few open files are allowed";
    grow_to(10);
    const Cost few = measure();
    grow_to(many_);
    const Cost many = measure();
    std::printf("us per loop: %.2f among 10, %.2f among %d\n", few.us, many.us, many_);
    RecordProperty("us_few", std::to_string(few.us));
    RecordProperty("us_many", std::to_string(many.us));
    // One event and one loop iteration each, however many wait. (A stray event of another descriptor is allowed.)
    EXPECT_NEAR(few.events, 1, 0.01);
    EXPECT_NEAR(many.events, 1, 0.01);
    EXPECT_NEAR(few.passes, 1, 0.01);
    EXPECT_NEAR(many.passes, 1, 0.01);
    // A loop over all waiting descriptors would cost at least 30 times as much here.
    EXPECT_LT(many.us / few.us, 4);
}

}  // namespace
}  // namespace runtime
