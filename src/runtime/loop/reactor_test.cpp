#include "runtime/loop/reactor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace runtime {
namespace {

// A socket of datagrams: each that is read makes the kernel report room for output, to whom wants to know.
class DatagramWatchTest : public testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        int ends[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
        peer_ = ends[1];
        ASSERT_TRUE(testing::ok(watch_.open(ends[0], detail::Watch::kInputEdges)));
    }
    void TearDown() override { ::close(peer_); }
    bool send() { return ::send(watch_.fd(), "datagram", 8, MSG_DONTWAIT) == 8; }
    bool take() {
        std::array<char, 16> buffer;
        return ::recv(peer_, buffer.data(), buffer.size(), MSG_DONTWAIT) == 8;
    }
    static uint64_t events() { return detail::reactor_counters().events; }

    testing::SimulatedTime time_;
    int peer_ = -1;
    detail::Watch watch_;
};

TEST_F(DatagramWatchTest, WhatLeavesMakesNoEvents) {
    time_.settle();
    const uint64_t before = events();
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(send());
        EXPECT_TRUE(take());
        time_.settle();
    }
    EXPECT_EQ(events(), before);
}

TEST_F(DatagramWatchTest, AWriterThatWaitsForRoomIsWoken) {
    for (int round = 0; round < 3; ++round) {
        while (send()) continue;
        watch_.write_would_block();
        bool woken = false;
        auto writer = spawn("writer", [&] { woken = watch_.wait_writable(Deadline::never()).has_value(); });
        time_.settle();
        EXPECT_FALSE(woken);
        while (take()) continue;
        time_.settle();
        EXPECT_TRUE(woken) << "in round " << round;
        writer.cancel_and_join();
        const uint64_t before = events();
        EXPECT_TRUE(send() && take());
        time_.settle();
        EXPECT_EQ(events(), before) << "it is not reported any more";
    }
}

TEST_F(DatagramWatchTest, RoomThatWasThereBeforeTheWaitIsSeen) {
    while (send()) continue;
    while (take()) continue;
    watch_.write_would_block();
    EXPECT_TRUE(testing::ok(watch_.wait_writable(Deadline::in_ms(1'000))));
}

}  // namespace
}  // namespace runtime
