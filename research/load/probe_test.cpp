#include "load/probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace load {
namespace {

TEST(Probe, ReadsPss) {
    EXPECT_EQ(parse_pss_kb("0-1 ---p [rollup]\nRss:  1736 kB\nPss:     310 kB\nPss_Dirty:  112 kB\n"), 310);
    EXPECT_EQ(parse_pss_kb("Rss: 1 kB\n"), -1);
    EXPECT_EQ(parse_pss_kb(""), -1);
}

TEST(Probe, SeesItself) {
    Probe self(getpid());
    EXPECT_TRUE(self.check());
    int64_t before = self.cpu_us();
    volatile uint64_t sum = 0;
    for (int i = 0; i < 5'000'000; ++i) sum = sum + static_cast<uint64_t>(i);
    EXPECT_GT(self.cpu_us(), before);
    EXPECT_GT(self.pss_kb(), 0);
    EXPECT_GT(self.descriptors(), 2);
}

TEST(Probe, SaysThatAProcessIsGone) {
    EXPECT_FALSE(Probe(4194303).check());
    EXPECT_TRUE(Probe(0).check());
    EXPECT_EQ(Probe(0).cpu_us(), 0);
}

}  // namespace
}  // namespace load
