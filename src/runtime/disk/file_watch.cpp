#include "runtime/disk/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <set>

#include "runtime/loop/reactor.h"
#include "runtime/loop/sync.h"

namespace runtime {
namespace {

// A file that is written in place, or moved away; a name that appears in a directory or leaves it. Writes in progress
// are not watched: logs grow in the same directories.
constexpr uint32_t kOfFile = IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;
constexpr uint32_t kOfDirectory = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR;

std::string directory_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == path.npos ? "." : path.substr(0, slash + 1);
}

class Inotify final : public FileWatch {
  public:
    base::Result<void> open() {
        fd_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (fd_ < 0) return base::fail_errno("inotify", errno);
        return watch_.open(fd_);
    }

    void watch(const std::vector<std::string>& paths) override {
        std::set<int> now;
        auto add = [&](const std::string& path, uint32_t mask) {
            const int wanted = inotify_add_watch(fd_, path.c_str(), mask);
            if (wanted >= 0) now.insert(wanted);
        };
        for (const std::string& path : paths) {
            add(path, kOfFile);
            add(directory_of(path), kOfDirectory);
            char real[PATH_MAX];
            if (realpath(path.c_str(), real)) add(directory_of(real), kOfDirectory);
        }
        for (int old : watched_)
            if (!now.contains(old)) inotify_rm_watch(fd_, old);
        watched_ = std::move(now);
    }

    base::Result<void> next(Deadline deadline) override {
        TRY(detail::check_cancelled());
        while (true) {
            TRY(watch_.wait_readable(deadline));
            bool any = false;
            alignas(inotify_event) char events[4096];
            ssize_t n = 0;
            while ((n = ::read(fd_, events, sizeof events)) > 0) any = true;
            if (n < 0 && errno != EAGAIN && errno != EINTR) return base::fail_errno("reading inotify's events", errno);
            watch_.read_would_block();
            if (any) return {};
        }
    }

  private:
    detail::Watch watch_;
    int fd_ = -1;  // owned by watch_
    std::set<int> watched_;
};

}  // namespace

base::Result<std::unique_ptr<FileWatch>> watch_files() {
    auto watch = std::make_unique<Inotify>();
    TRY(watch->open());
    return watch;
}

}  // namespace runtime
