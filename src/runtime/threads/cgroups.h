#pragma once
// Files of the control groups (cgroups(7)) that this process is in: of its own group and of those above it, whose
// limits hold for it too. Both versions, also beside each other.

#include <string>
#include <string_view>
#include <vector>

namespace runtime {

// Where the files of a controller ("memory", "cpu") are looked for, the own group first. own: the text of
// /proc/self/cgroup. A container may not see the path of its group, but the group itself at the root.
struct CgroupDirectories {
    std::vector<std::string> v1, v2;
};
CgroupDirectories cgroup_directories(std::string_view own, std::string_view controller);

// The texts of those files that there are. v1, v2: the file's name in each version; empty: it has none. Small files of
// /sys: at the start, or on a worker.
std::vector<std::string> read_cgroup_files(std::string_view controller, std::string_view v1, std::string_view v2);

}  // namespace runtime
