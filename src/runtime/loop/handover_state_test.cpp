#include "runtime/loop/handover_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace runtime {
namespace {

int memory_file() { return memfd_create("test", MFD_CLOEXEC); }
bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(HandoverState, IsTakenOnceByName) {
    const int first = memory_file(), second = memory_file();
    leave_state({"hls", OwnedDescriptors({first})});
    leave_state({"dvr", OwnedDescriptors({second})});
    EXPECT_EQ(take_left_state("rtmp").size(), 0u);
    {
        const OwnedDescriptors taken = take_left_state("hls");
        ASSERT_EQ(taken.all(), std::vector{first});
        EXPECT_EQ(take_left_state("hls").size(), 0u);
    }
    EXPECT_FALSE(is_open(first));
    {
        const auto all = take_left_states();
        ASSERT_EQ(all.size(), 1u);
        EXPECT_EQ(all[0].service, "dvr");
    }
    EXPECT_FALSE(is_open(second));
}

TEST(HandoverState, ANewerOneReplacesAnEarlierOne) {
    const int first = memory_file(), second = memory_file();
    leave_state({"hls", OwnedDescriptors({first})});
    leave_state({"hls", OwnedDescriptors({second})});
    EXPECT_FALSE(is_open(first));
    EXPECT_EQ(take_left_state("hls").all(), std::vector{second});
    leave_state({"hls", {}});
    EXPECT_TRUE(take_left_states().empty()) << "there is nothing in it";
}

TEST(HandoverState, TooManyAreDropped) {
    for (size_t i = 0; i <= kMaxHandoverStates; ++i)
        leave_state({std::to_string(i), OwnedDescriptors({memory_file()})});
    EXPECT_EQ(take_left_states().size(), kMaxHandoverStates);
}

}  // namespace
}  // namespace runtime
