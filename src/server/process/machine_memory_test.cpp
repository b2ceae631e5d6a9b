#include "server/process/machine_memory.h"

#include <gtest/gtest.h>

namespace server {
namespace {

TEST(MachineMemory, IsTheContainersWhereThatIsLess) {
    EXPECT_EQ(limited_memory(1000, "max\n"), 1000u);
    EXPECT_EQ(limited_memory(1000, "600\n"), 600u);
    EXPECT_EQ(limited_memory(1000, "9223372036854771712\n"), 1000u);
    EXPECT_EQ(limited_memory(1000, ""), 1000u);
    EXPECT_EQ(limited_memory(1000, "0"), 1000u);
    EXPECT_GT(machine_memory(), size_t{64} << 20);
}

}  // namespace
}  // namespace server
