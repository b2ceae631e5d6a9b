// Writing by the worker threads: writes through the page cache, and all writes where io_uring is not allowed. Always
// through the cache: the system writes in the background, whereas a thread that bypasses the cache would wait for the
// medium each time, and there are only two threads.

#include <sys/uio.h>

#include <cerrno>

#include "runtime/disk/disk_engine.h"
#include "runtime/disk/disk_file.h"

namespace runtime::disk {
namespace {

int write_once(const Write& write) {
    while (true) {
        const ssize_t n =
            pwritev(write.fd, write.parts.data(), static_cast<int>(write.count), static_cast<off_t>(write.offset));
        if (n >= 0) return static_cast<int>(n);
        if (errno != EINTR) return -errno;
    }
}

class ThreadWriter final : public Writer {
  public:
    explicit ThreadWriter(detail::ThreadPool& pool) : pool_(pool) {}

    void submit(const std::shared_ptr<File>& file, Write& write) override {
        auto job = std::make_unique<detail::ThreadJob>();
        auto* result = &job->result;
        job->work = [&write, result] { *result = write_once(write); };
        job->done = [file, result] { file->on_written(*result); };
        pool_.submit(std::move(job));
    }

  private:
    detail::ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Writer> make_thread_writer(detail::ThreadPool& pool) { return std::make_unique<ThreadWriter>(pool); }

}  // namespace runtime::disk
