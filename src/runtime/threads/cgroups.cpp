#include "runtime/threads/cgroups.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace runtime {

namespace {

constexpr std::string_view kMount = "/sys/fs/cgroup", kUnified = "/sys/fs/cgroup/unified";

std::string read_text(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string_view take_until(std::string_view& text, char end) {
    const size_t at = text.find(end);
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return taken;
}

bool names(std::string_view controllers, std::string_view wanted) {
    while (!controllers.empty())
        if (take_until(controllers, ',') == wanted) return true;
    return false;
}

// root, with the path and with each beginning of it that ends before a "/", the longest first. A path that leads out of
// what is visible, "/../a", is the root.
void add(std::vector<std::string>& to, std::string_view root, std::string_view path) {
    if (path.contains("..")) path = {};
    while (path.starts_with('/') && path != "/") {
        to.push_back(fmt::format("{}{}", root, path));
        path = path.substr(0, path.rfind('/'));
    }
    to.emplace_back(root);
}

}  // namespace

CgroupDirectories cgroup_directories(std::string_view own, std::string_view controller) {
    CgroupDirectories found;
    while (!own.empty()) {
        std::string_view path = take_until(own, '\n');
        const std::string_view number = take_until(path, ':');
        const std::string_view controllers = take_until(path, ':');
        if (number == "0") {
            add(found.v2, kMount, path);
            add(found.v2, kUnified, path);
        } else if (names(controllers, controller)) {
            add(found.v1, fmt::format("{}/{}", kMount, controller), path);
        }
    }
    return found;
}

std::vector<std::string> read_cgroup_files(std::string_view controller, std::string_view v1, std::string_view v2) {
    const CgroupDirectories found = cgroup_directories(read_text("/proc/self/cgroup"), controller);
    std::vector<std::string> texts;
    const auto read = [&texts](const std::vector<std::string>& directories, std::string_view name) {
        for (const std::string& directory : directories) {
            if (name.empty()) return;
            if (std::string text = read_text(fmt::format("{}/{}", directory, name)); !text.empty())
                texts.push_back(std::move(text));
        }
    };
    read(found.v1, v1);
    read(found.v2, v2);
    return texts;
}

}  // namespace runtime
