#include "net/http/opened_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "protocol/http/date.h"
#include "runtime/disk/file_owner.h"
#include "runtime/threads/descriptors.h"
#include "runtime/threads/workers.h"

namespace net {

namespace {

constexpr int64_t kOpenTimeoutMs = 30'000;
constexpr int64_t kSweepMs = 500;

class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    int release() { return std::exchange(fd_, -1); }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_;
};

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // non-blocking: a FIFO must not block a worker

// For kernels without openat2, or that forbid it: opens one path component at a time, and follows no symbolic links.
Descriptor open_stepwise(int root, const std::string& path) {
    Descriptor here(dup(root));
    size_t start = 0;
    while (here && start < path.size()) {
        size_t end = std::min(path.find('/', start), path.size());
        std::string segment = path.substr(start, end - start);
        start = end + 1;
        if (segment.empty() || segment == ".") continue;
        if (segment == "..") {
            errno = EXDEV;
            return Descriptor();
        }
        here = Descriptor(openat(here.get(), segment.c_str(), kOpenFlags | O_NOFOLLOW));
    }
    return here;
}

Descriptor open_beneath(int root, const std::string& path, bool regular_only) {
    open_how how{};
    how.flags = kOpenFlags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (regular_only) how.resolve |= RESOLVE_NO_SYMLINKS;
    auto fd = static_cast<int>(syscall(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return open_stepwise(root, path);
    return Descriptor(fd);
}

// Absolute, without symbolic links, however the file was found. Empty: the system does not report it.
std::string real_path_of(int fd) {
    std::string path(4096, '\0');
    const ssize_t n = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path.data(), path.size());
    path.resize(n > 0 && static_cast<size_t>(n) < path.size() ? static_cast<size_t>(n) : 0);
    return path;
}

// Runs on a worker.
void open_file(const std::string& directory, const std::string& path, bool regular_only, const FileOwners* owners,
               OpenedFile& out) {
    Descriptor root(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Descriptor fd = root ? open_beneath(root.get(), path, regular_only) : Descriptor();
    if (!fd || fstat(fd.get(), &out.info) < 0) {
        out.error = errno;
        return;
    }
    if (regular_only && !S_ISREG(out.info.st_mode)) {
        out.error = ENOENT;
        return;
    }
    out.is_directory = S_ISDIR(out.info.st_mode);
    if (out.is_directory) return;
    if (!S_ISREG(out.info.st_mode)) {
        out.error = EACCES;
        return;
    }
    // The server's own work needs the rest.
    if (fd.get() >= runtime::descriptor_budget().files) {
        out.error = EMFILE;
        return;
    }
    if (owners) {
        out.real_path = real_path_of(fd.get());
        if (out.real_path.empty()) {
            out.error = EACCES;  // its owner cannot be determined
            return;
        }
        out.ownership = owners->find(out.real_path, runtime::file_owner(fd.get()));
    }
    const timespec& modified = out.info.st_mtim;
    out.etag = fmt::format("\"{:x}-{:x}\"", static_cast<uint64_t>(out.info.st_size),
                           modified.tv_sec * INT64_C(1'000'000'000) + modified.tv_nsec);
    out.last_modified = http::format_date(modified.tv_sec);
    out.source = std::make_shared<runtime::disk::FileSource>(fd.release(), static_cast<uint64_t>(out.info.st_size),
                                                             directory + "/" + path);
}

base::Result<OpenedFilePtr> open_on_worker(const OpenedFiles::Wanted& wanted) {
    auto file = std::make_shared<OpenedFile>();
    auto job = [file, directory = std::string(wanted.directory), path = std::string(wanted.path),
                regular_only = wanted.regular_only,
                owners = wanted.owners] { open_file(directory, path, regular_only, owners.get(), *file); };
    TRY(runtime::offload(std::move(job), runtime::Deadline::in_ms(kOpenTimeoutMs)));
    return OpenedFilePtr(std::move(file));
}

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

// The time of the last change of its attributes covers renaming, another file in its place, and a changed owner.
bool is_unchanged(const OpenedFile& file) {
    struct stat now {};
    if (fstat(file.source->fd(), &now) != 0) return false;
    const struct stat& then = file.info;
    return now.st_nlink == then.st_nlink && now.st_nlink > 0 && now.st_size == then.st_size &&
           same_time(now.st_mtim, then.st_mtim) && same_time(now.st_ctim, then.st_ctim);
}

std::string key_of(const OpenedFiles::Wanted& wanted) {
    std::string key;
    key.reserve(wanted.directory.size() + wanted.path.size() + 2);
    key.append(wanted.directory).push_back('\0');
    key.append(wanted.path).push_back(static_cast<char>((wanted.regular_only ? 1 : 0) | (wanted.owners ? 2 : 0)));
    return key;
}

}  // namespace

OpenedFiles::~OpenedFiles() {
    if (sweeping_) sweeping_.cancel_and_join();
}

size_t OpenedFiles::limit_beside(int64_t max_connections) {
    constexpr int64_t kOthers = 100, kLeast = 16, kMost = 1024;
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return kDefaultLimit;
    const auto all = static_cast<int64_t>(std::min<rlim_t>(files.rlim_cur, INT32_MAX));
    return static_cast<size_t>(std::clamp((all - max_connections - kOthers) / 4, kLeast, kMost));
}

void OpenedFiles::set_limit(size_t files) {
    limit_ = files;
    while (kept_.size() > limit_) drop(std::prev(kept_.end()));
}

OpenedFilePtr OpenedFiles::find(const std::string& key, const Wanted& wanted) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    const auto kept = found->second;
    const bool is_new = base::monotonic_ms() - kept->opened_ms < kKeptMs;
    if (!is_new || kept->owners != wanted.owners || !is_unchanged(*kept->file)) {
        drop(kept);
        return nullptr;
    }
    kept_.splice(kept_.begin(), kept_, kept);
    return kept->file;
}

base::Result<OpenedFilePtr> OpenedFiles::open(const Wanted& wanted) {
    const std::string key = key_of(wanted);
    if (auto kept = find(key, wanted)) return kept;
    if (const auto found = opening_.find(key); found != opening_.end()) {
        const auto opening = found->second;
        TRY(opening->done.wait(runtime::Deadline::in_ms(kOpenTimeoutMs)));
        if (opening->file) return opening->file;
        return open_on_worker(wanted);
    }
    const auto opening = std::make_shared<Opening>();
    opening_.emplace(key, opening);
    const int64_t now_ms = base::monotonic_ms();
    auto file = open_on_worker(wanted);
    // Kept files give way to what is asked for now.
    if (file && ((*file)->error == EMFILE || (*file)->error == ENFILE) && !kept_.empty()) {
        drop_all();
        file = open_on_worker(wanted);
    }
    opening_.erase(key);
    if (file) opening->file = *file;
    opening->done.set();
    if (file && (*file)->source && (*file)->source->reads_now()) keep(key, wanted, *file, now_ms);
    return file;
}

void OpenedFiles::keep(std::string key, const Wanted& wanted, OpenedFilePtr file, int64_t opened_ms) {
    if (limit_ == 0) return;
    if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
    if (kept_.size() >= limit_) drop(std::prev(kept_.end()));
    kept_.push_front({std::move(key), std::move(file), wanted.owners, opened_ms});
    by_key_.emplace(kept_.front().key, kept_.begin());
    if (!sweeping_ || sweeping_.done()) sweeping_ = runtime::spawn("opened-files", [this] { sweep(); });
}

void OpenedFiles::drop(std::list<Kept>::iterator kept) {
    by_key_.erase(kept->key);
    kept_.erase(kept);
}

void OpenedFiles::drop_all() {
    by_key_.clear();
    kept_.clear();
}

// A removed file occupies the disk as long as it is open.
void OpenedFiles::sweep() {
    while (!kept_.empty() && runtime::sleep_ms(kSweepMs)) {
        const int64_t now_ms = base::monotonic_ms();
        for (auto next = kept_.begin(); next != kept_.end();) {
            const auto kept = next++;
            if (now_ms - kept->opened_ms >= kKeptMs) drop(kept);
        }
    }
}

}  // namespace net
