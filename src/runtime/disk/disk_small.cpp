// Small files written as a whole, renaming, removing, jobs.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "runtime/disk/disk_closing.h"
#include "runtime/disk/disk_engine.h"
#include "runtime/disk/file_owner.h"

namespace runtime::disk {
namespace {

constexpr uint64_t kMaxOperations = 100'000;

// Runs `work` (0 or errno) when it is first in the paths' queues; `what` is for the error: "removing x".
void run_in_order(Step step, std::vector<std::string> paths, std::string what, std::move_only_function<int()> work,
                  Done done) {
    auto& disk = engine();
    struct Shared {
        std::string path, what, context_id;
        std::move_only_function<int()> work;
        Done done;
    };
    auto shared = std::make_shared<Shared>();
    shared->path = paths.front();
    shared->what = std::move(what);
    shared->context_id = context_id();
    shared->work = std::move(work);
    shared->done = std::move(done);
    const auto finish = [shared](int error) {
        if (!shared->done) return;
        const ContextScope scope(shared->context_id);
        if (error)
            shared->done(base::fail_errno(shared->what, error));
        else
            shared->done({});
    };
    if (disk.operations >= kMaxOperations) return disk.defer([finish] { finish(EAGAIN); });
    auto operation = std::make_shared<PathOperation>();
    operation->paths = std::move(paths);
    operation->go = [&disk, step, shared, finish, operation = std::weak_ptr(operation)] {
        disk.run_step(
            {step}, shared->path, [shared] { return shared->work(); },
            [&disk, finish, operation = operation.lock()](int error) {
                disk.paths.leave(operation);
                finish(error);
            });
    };
    disk.paths.enter(operation);
}

int write_whole(const std::string& path, const std::string& bytes, const std::string& owner) {
    const std::string temporary = path + ".tmp";
    int fd = -1;
    int error = open_empty(temporary, fd);
    if (error) return error;
    set_file_owner(fd, owner);
    for (size_t done = 0; done < bytes.size() && !error;) {
        const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
        if (n > 0)
            done += static_cast<size_t>(n);
        else if (n == 0 || errno != EINTR)
            error = n == 0 ? ENOSPC : errno;
    }
    if (close(fd) != 0 && !error) error = errno;
    if (!error && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
    if (error) unlink(temporary.c_str());
    return error;
}

}  // namespace

void write_file(std::string path, std::string bytes, Done done, std::string owner) {
    auto work = [path, bytes = std::move(bytes), owner = std::move(owner)] { return write_whole(path, bytes, owner); };
    auto what = "writing " + path;
    auto temporary = path + ".tmp";
    run_in_order(Step::kWrite, {std::move(path), std::move(temporary)}, std::move(what), std::move(work),
                 std::move(done));
}

void remove(std::string path, Done done, bool empty_directory) {
    auto work = [path, empty_directory] {
        if (unlink(path.c_str()) != 0 && errno != ENOENT) return errno;
        if (const size_t slash = path.rfind('/'); empty_directory && slash != std::string::npos && slash > 0)
            rmdir(path.substr(0, slash).c_str());
        return 0;
    };
    auto what = "removing " + path;
    run_in_order(Step::kClose, {std::move(path)}, std::move(what), std::move(work), std::move(done));
}

void rename(std::string from, std::string to, Done done) {
    auto work = [from, to] { return rename_file(from, to); };
    auto what = fmt::format("renaming {} to {}", from, to);
    run_in_order(Step::kClose, {std::move(from), std::move(to)}, std::move(what), std::move(work), std::move(done));
}

void run(std::move_only_function<base::Result<void>()> job, Done done) {
    auto& disk = engine();
    auto result = std::make_shared<base::Result<void>>();
    disk.run_long([result, job = std::move(job)]() mutable { *result = job(); },
                  [result, id = context_id(), done = std::move(done)]() mutable {
                      const ContextScope scope(id);
                      if (done) done(std::move(*result));
                  });
}

}  // namespace runtime::disk
