#include "service/dvr/finish_mp4.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "protocol/mp4/finisher.h"

namespace service::dvr {

using base::Code;
using base::fail;
using base::fail_errno;
using base::Result;
using mp4::Finisher;

namespace {

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }

  private:
    int fd_;
};

// Reads up to `size` bytes; fewer at the end of the file.
Result<void> read_at(int fd, uint64_t offset, size_t size, std::vector<uint8_t>& out) {
    out.resize(size);
    size_t got = 0;
    while (got < size) {
        ssize_t n = ::pread(fd, out.data() + got, size - got, static_cast<off_t>(offset + got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_errno("reading", errno);
        if (n == 0) break;
        got += static_cast<size_t>(n);
    }
    out.resize(got);
    return {};
}

Result<void> write_at(int fd, uint64_t offset, std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return fail_errno("writing", n < 0 ? errno : EIO);
        offset += static_cast<uint64_t>(n);
        bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return {};
}

Result<uint64_t> write_pieces(int fd, uint64_t offset, const std::vector<std::span<const uint8_t>>& pieces) {
    for (auto piece : pieces) {
        TRY(write_at(fd, offset, piece));
        offset += piece.size();
    }
    return offset;
}

Result<void> scan(int fd, Finisher& finisher) {
    std::vector<uint8_t> bytes;
    while (auto want = finisher.want()) {
        TRY(read_at(fd, want->offset, want->size, bytes));
        TRY(finisher.feed(bytes));
    }
    return {};
}

Result<void> synced(int fd, bool wanted) {
    if (wanted && ::fdatasync(fd) != 0) return fail_errno("fdatasync", errno);
    return {};
}

// Steps 1 to 5 of finisher.h. False: the file system cannot insert space, and only the incomplete end was changed.
Result<bool> finish_in_place(int fd, Finisher& finisher, uint64_t block, bool sync) {
    auto plan = finisher.plan(block);
    if (!plan) return false;
    if (plan->insert_size) {
        int done = ::fallocate(fd, FALLOC_FL_INSERT_RANGE, static_cast<off_t>(plan->insert_at),
                               static_cast<off_t>(plan->insert_size));
        if (done != 0 && (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS)) return false;
        if (done != 0) return fail_errno("making room at the head", errno);
    }
    if (plan->grow) TRY(write_at(fd, plan->grow->offset, plan->grow->bytes));
    TRY(write_pieces(fd, plan->write_at, plan->pieces));
    TRY(synced(fd, sync));
    TRY(write_at(fd, plan->expose.offset, plan->expose.bytes));
    return true;
}

Result<void> copy_range(int from, uint64_t offset, uint64_t size, int to, uint64_t at) {
    auto in = static_cast<off_t>(offset), out = static_cast<off_t>(at);
    std::vector<uint8_t> buffer;
    while (size > 0) {
        ssize_t n = ::copy_file_range(from, &in, to, &out, size, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            // Old kernels do not support this on some file systems.
            TRY(read_at(from, static_cast<uint64_t>(in), std::min<uint64_t>(size, 1 << 20), buffer));
            if (buffer.empty()) return fail(Code::kSystem, "the recording became shorter while it was copied");
            TRY(write_at(to, static_cast<uint64_t>(out), buffer));
            n = static_cast<ssize_t>(buffer.size());
            in += n;
            out += n;
        }
        size -= static_cast<uint64_t>(n);
    }
    return {};
}

Result<void> finish_by_copy(int fd, const std::string& path, const struct stat& about, Finisher& finisher, bool sync) {
    std::string copy = path + ".finishing.tmp";
    Descriptor to(::open(copy.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, about.st_mode & 0777));
    if (to.get() < 0) return fail_errno("creating " + copy, errno);
    auto write = [&]() -> Result<void> {
        auto plan = finisher.plan_copy();
        uint64_t at = TRY(write_pieces(to.get(), 0, plan.pieces));
        TRY(copy_range(fd, plan.copy_from, plan.copy_size, to.get(), at));
        TRY(synced(to.get(), sync));
        if (::rename(copy.c_str(), path.c_str()) != 0) return fail_errno("renaming " + copy, errno);
        return {};
    };
    auto done = write();
    if (!done) ::unlink(copy.c_str());
    return done;
}

Result<FinishedMp4> finish(const std::string& path, const FinishOptions& options) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (file.get() < 0 && errno == ENOENT) return fail(Code::kNotFound, "no such file");
    if (file.get() < 0) return fail_errno("opening", errno);
    struct stat about;
    if (::fstat(file.get(), &about) != 0) return fail_errno("fstat", errno);
    if (!S_ISREG(about.st_mode)) return fail(Code::kRefused, "no plain file");
    auto size = static_cast<uint64_t>(about.st_size);
    Finisher finisher(size);
    TRY(scan(file.get(), finisher));
    FinishedMp4 out;
    out.duration_ms = finisher.duration_ms();
    out.samples = finisher.samples();
    out.was_finished = finisher.finished_already();
    if (!out.was_finished) {
        out.cut_bytes = size - finisher.media_end();
        if (out.cut_bytes && ::ftruncate(file.get(), static_cast<off_t>(finisher.media_end())) != 0)
            return fail_errno("cutting the torn end", errno);
        auto block = options.insert ? static_cast<uint64_t>(about.st_blksize) : 0;
        auto plan = finisher.plan(block);
        out.how = plan && plan->insert_size ? FinishedMp4::How::kInserted : FinishedMp4::How::kInPlace;
        if (!TRY(finish_in_place(file.get(), finisher, block, options.sync))) {
            out.how = FinishedMp4::How::kCopied;
            TRY(finish_by_copy(file.get(), path, about, finisher, options.sync));
        }
    }
    struct stat after;
    if (::stat(path.c_str(), &after) != 0) return fail_errno("stat", errno);
    out.bytes = static_cast<uint64_t>(after.st_size);
    return out;
}

}  // namespace

Result<FinishedMp4> finish_mp4(const std::string& path, const FinishOptions& options) {
    return TRY(finish(path, options), path);
}

}  // namespace service::dvr
