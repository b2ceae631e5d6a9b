#include "service/api/lists/recording_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace service::api {

namespace {

constexpr std::string_view kGrowingSuffix = ".tmp";

bool is_recording_name(std::string_view name) {
    constexpr size_t kExtension = 4;
    return name.size() > kExtension && (name.ends_with(".flv") || name.ends_with(".mp4"));
}

std::string normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

}  // namespace

bool is_recording_path(std::string_view path) {
    if (!is_recording_name(path.substr(path.rfind('/') + 1)) || path.find('\0') != path.npos) return false;
    while (true) {
        const size_t slash = path.find('/');
        const std::string_view part = path.substr(0, slash);
        if (part.empty() || part == "." || part == "..") return false;
        if (slash == path.npos) return true;
        path.remove_prefix(slash + 1);
    }
}

RecordingScan::RecordingScan(std::vector<RecordingRoot> roots, const std::vector<std::string>& growing,
                             const Bounds& bounds)
    : bounds_(bounds) {
    files_.roots = std::move(roots);
    for (const std::string& path : growing) growing_.insert(normal(path));
}

bool RecordingScan::step(size_t entries) {
    for (size_t i = 0; i < entries; ++i) {
        if (stopped_) return false;
        if (levels_.empty()) {
            if (!next_root()) return false;
            continue;
        }
        const Level& level = levels_.back();
        path_.resize(level.path_size);
        const dirent* entry = readdir(level.directory.get());
        if (!entry) {
            levels_.pop_back();
        } else if (const std::string_view name = entry->d_name; name != "." && name != "..") {
            if (++entries_ > bounds_.entries) {
                truncate();
            } else {
                look_at(level, entry->d_name);
            }
        }
    }
    return true;
}

// False: there was none left.
bool RecordingScan::next_root() {
    if (next_root_ == files_.roots.size()) return false;
    path_.clear();
    enter(AT_FDCWD, files_.roots[next_root_++].directory.c_str(), 0);
    return true;
}

// A directory that cannot be opened is skipped. A root may be a symbolic link, nothing below it.
void RecordingScan::enter(int parent, const char* name, size_t path_size) {
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (parent == AT_FDCWD ? 0 : O_NOFOLLOW);
    const int fd = openat(parent, name, flags);
    if (fd < 0) return;
    struct stat info {};
    std::unique_ptr<DIR, CloseDirectory> directory(fdopendir(fd));
    if (!directory) {
        close(fd);
        return;
    }
    if (fstat(fd, &info) < 0 || !entered_.emplace(info.st_dev, info.st_ino).second) return;
    levels_.push_back({std::move(directory), path_size});
}

void RecordingScan::look_at(const Level& level, const char* name) {
    struct stat info {};
    const int directory = dirfd(level.directory.get());
    if (fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) < 0) return;
    path_ += name;
    if (S_ISDIR(info.st_mode)) {
        if (levels_.size() > bounds_.depth) {
            files_.truncated = true;
            return;
        }
        path_ += '/';
        return enter(directory, name, path_.size());
    }
    if (!S_ISREG(info.st_mode)) return;
    std::string_view path = path_;
    if (is_recording_name(name)) return add(path, info, false);
    if (!path.ends_with(kGrowingSuffix)) return;
    const std::string& root = files_.roots[next_root_ - 1].directory;
    if (!growing_.contains(normal(root + "/" + path_))) return;
    path.remove_suffix(kGrowingSuffix.size());
    add(path, info, true);
}

void RecordingScan::add(std::string_view path, const struct stat& info, bool active) {
    if (files_.text.size() + path.size() > bounds_.text_bytes) return truncate();
    files_.files.push_back({.root = static_cast<uint32_t>(next_root_ - 1),
                            .path_begin = static_cast<uint32_t>(files_.text.size()),
                            .path_size = static_cast<uint32_t>(path.size()),
                            .active = active,
                            .bytes = static_cast<uint64_t>(info.st_size),
                            .modified_ms = info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000});
    files_.text += path;
}

RecordingFiles RecordingScan::take() {
    levels_.clear();
    std::ranges::sort(files_.files, [this](const RecordingFile& a, const RecordingFile& b) {
        if (a.modified_ms != b.modified_ms) return a.modified_ms > b.modified_ms;
        return std::pair(a.root, files_.path(a)) < std::pair(b.root, files_.path(b));
    });
    return std::move(files_);
}

}  // namespace service::api
