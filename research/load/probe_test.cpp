#include "load/probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace load {
namespace {

TEST(Probe, ReadsFieldsOfTheRollup) {
    constexpr std::string_view kText = "0-1 ---p [rollup]\nRss:  1736 kB\nPss:     310 kB\nPss_Anon:  112 kB\n";
    EXPECT_EQ(parse_rollup_kb(kText, "Pss"), 310);
    EXPECT_EQ(parse_rollup_kb(kText, "Pss_Anon"), 112);
    EXPECT_EQ(parse_rollup_kb("Rss: 1 kB\n", "Pss"), -1);
    EXPECT_EQ(parse_rollup_kb("", "Pss"), -1);
}

TEST(Probe, SeesItself) {
    Probe self(getpid());
    EXPECT_TRUE(self.check());
    int64_t before = self.cpu_us();
    volatile uint64_t sum = 0;
    for (int i = 0; i < 5'000'000; ++i) sum = sum + static_cast<uint64_t>(i);
    EXPECT_GT(self.cpu_us(), before);
    EXPECT_GT(self.main_thread_cpu_us(), 0);
    EXPECT_LE(self.main_thread_cpu_us(), self.cpu_us());
    EXPECT_GT(self.anonymous_kb(), 0);
    EXPECT_GT(self.pss_kb(), self.anonymous_kb()) << "the program's own file is mapped";
    EXPECT_GT(self.descriptors(), 2);
}

TEST(Probe, SaysThatAProcessIsGone) {
    EXPECT_FALSE(Probe(4194303).check());
    EXPECT_EQ(Probe(4194303).main_thread_cpu_us(), -1);
    EXPECT_TRUE(Probe(0).check());
    EXPECT_EQ(Probe(0).cpu_us(), 0);
}

}  // namespace
}  // namespace load
