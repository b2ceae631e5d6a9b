#include "runtime/disk/file_owner.h"

#include <sys/xattr.h>

namespace runtime {

namespace {
constexpr const char* kAttribute = "user.srs.stream";
constexpr size_t kMaxOwnerBytes = 4096;  // names of clients are shorter: they are part of a URL
}  // namespace

// An error means that the file system has no such attribute, and is not an error of the file.
void set_file_owner(int fd, const std::string& owner) {
    if (owner.empty() || file_owner(fd) == owner) return;
    static_cast<void>(fsetxattr(fd, kAttribute, owner.data(), owner.size(), 0));
}

void set_file_owner(const std::string& path, const std::string& owner) {
    if (owner.empty()) return;
    static_cast<void>(lsetxattr(path.c_str(), kAttribute, owner.data(), owner.size(), 0));
}

std::string file_owner(int fd) {
    char text[kMaxOwnerBytes];
    const ssize_t n = fgetxattr(fd, kAttribute, text, sizeof text);
    return n > 0 ? std::string(text, static_cast<size_t>(n)) : std::string();
}

}  // namespace runtime
