#include "runtime/threads/cgroups.h"

#include <gtest/gtest.h>

namespace runtime {
namespace {

using Paths = std::vector<std::string>;

TEST(Cgroups, LimitsOfTheGroupsAboveCount) {
    const auto found = cgroup_directories("0::/system.slice/srs.service\n", "memory");
    EXPECT_EQ(found.v1, Paths());
    EXPECT_EQ(found.v2, (Paths{"/sys/fs/cgroup/system.slice/srs.service", "/sys/fs/cgroup/system.slice",
                               "/sys/fs/cgroup", "/sys/fs/cgroup/unified/system.slice/srs.service",
                               "/sys/fs/cgroup/unified/system.slice", "/sys/fs/cgroup/unified"}));
}

TEST(Cgroups, AControllerOfVersionOneHasAPathOfItsOwn) {
    const auto found = cgroup_directories("9:name=systemd:/a\n4:memory:/docker/b\n2:cpu,cpuacct:/c\n0::/\n", "memory");
    EXPECT_EQ(found.v1,
              (Paths{"/sys/fs/cgroup/memory/docker/b", "/sys/fs/cgroup/memory/docker", "/sys/fs/cgroup/memory"}));
    EXPECT_EQ(found.v2, (Paths{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}));
    EXPECT_EQ(cgroup_directories("2:cpu,cpuacct:/c", "cpuacct").v1.front(), "/sys/fs/cgroup/cpuacct/c");
    EXPECT_EQ(cgroup_directories("2:cpu,cpuacct:/c", "mem").v1, Paths());
}

TEST(Cgroups, AGroupThatIsNotVisibleIsLookedForAtTheRoot) {
    EXPECT_EQ(cgroup_directories("0::/../other", "memory").v2, (Paths{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}));
    EXPECT_EQ(cgroup_directories("0::other", "memory").v2, (Paths{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}));
    EXPECT_EQ(cgroup_directories("", "memory").v2, Paths());
    EXPECT_EQ(cgroup_directories("nonsense\n0\n:::::", "memory").v1, Paths());
}

}  // namespace
}  // namespace runtime
