#include "runtime/loop/handover_points.h"

#include "runtime/loop/coroutine.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace runtime {
namespace {

struct Point final : HandoverPoint {
    bool seeks = false;
    bool is_there = true;
    void seek_handover(bool on) override { seeks = on; }
    bool is_at_handover() const override { return is_there; }
};

class HandoverPointsTest : public testing::RuntimeTest {};

TEST_F(HandoverPointsTest, AllAreToldAndAwaited) {
    Point first;
    {
        Point second;
        second.is_there = false;
        seek_handover(true);
        EXPECT_TRUE(first.seeks && second.seeks);
        EXPECT_FALSE(is_at_handover());
    }
    EXPECT_TRUE(is_at_handover()) << "the second one is gone";
    seek_handover(false);
    EXPECT_FALSE(first.seeks);
}

TEST_F(HandoverPointsTest, IsWaitedForUntilTheDeadline) {
    testing::SimulatedTime time;
    Point point;
    point.is_there = false;
    bool is_over = false;
    auto waiting = spawn("waiting", [&] {
        await_handover(Deadline::in_ms(1'000));
        is_over = true;
    });
    time.pass_ms(900);
    EXPECT_FALSE(is_over);
    time.pass_ms(200);
    EXPECT_TRUE(is_over);
    is_over = false;
    auto again = spawn("again", [&] {
        await_handover(Deadline::never());
        is_over = true;
    });
    time.pass_ms(100);
    EXPECT_FALSE(is_over);
    point.is_there = true;
    time.pass_ms(20);
    EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace runtime
