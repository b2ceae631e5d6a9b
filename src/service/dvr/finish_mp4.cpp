#include "service/dvr/finish_mp4.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>
#include <vector>

#include "protocol/mp4/finisher.h"
#include "runtime/disk/blocking_file.h"

namespace service::dvr {

using base::Code;
using base::fail;
using base::fail_errno;
using base::Result;
using mp4::Finisher;
using runtime::BlockingFile;

namespace {

Result<uint64_t> write_pieces(const BlockingFile& file, uint64_t offset,
                              const std::vector<std::span<const uint8_t>>& pieces) {
    for (auto piece : pieces) {
        TRY(file.write_at(offset, piece));
        offset += piece.size();
    }
    return offset;
}

Result<void> scan(const BlockingFile& file, Finisher& finisher) {
    std::vector<uint8_t> bytes;
    while (auto want = finisher.want()) {
        bytes.resize(want->size);
        bytes.resize(TRY(file.read_at(want->offset, bytes)));
        TRY(finisher.feed(bytes));
    }
    return {};
}

Result<void> synced(const BlockingFile& file, bool wanted) {
    if (wanted && ::fdatasync(file.fd()) != 0) return fail_errno("fdatasync", errno);
    return {};
}

// Steps 1 to 5 of finisher.h. False: the file system cannot insert space, and only the incomplete end was changed.
Result<bool> finish_in_place(const BlockingFile& file, Finisher& finisher, uint64_t block, bool sync) {
    auto plan = finisher.plan(block);
    if (!plan) return false;
    if (plan->insert_size) {
        int done = ::fallocate(file.fd(), FALLOC_FL_INSERT_RANGE, static_cast<off_t>(plan->insert_at),
                               static_cast<off_t>(plan->insert_size));
        if (done != 0 && (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS)) return false;
        if (done != 0) return fail_errno("making room at the head", errno);
    }
    if (plan->grow) TRY(file.write_at(plan->grow->offset, plan->grow->bytes));
    TRY(write_pieces(file, plan->write_at, plan->pieces));
    TRY(synced(file, sync));
    TRY(file.write_at(plan->expose.offset, plan->expose.bytes));
    return true;
}

Result<void> copy_range(const BlockingFile& from, uint64_t offset, uint64_t size, const BlockingFile& to, uint64_t at) {
    auto in = static_cast<off_t>(offset), out = static_cast<off_t>(at);
    std::vector<uint8_t> buffer;
    while (size > 0) {
        ssize_t n = ::copy_file_range(from.fd(), &in, to.fd(), &out, size, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            // Old kernels do not support this on some file systems.
            buffer.resize(std::min<uint64_t>(size, 1 << 20));
            buffer.resize(TRY(from.read_at(static_cast<uint64_t>(in), buffer)));
            if (buffer.empty()) return fail(Code::kSystem, "the recording became shorter while it was copied");
            TRY(to.write_at(static_cast<uint64_t>(out), buffer));
            n = static_cast<ssize_t>(buffer.size());
            in += n;
            out += n;
        }
        size -= static_cast<uint64_t>(n);
    }
    return {};
}

Result<void> finish_by_copy(const BlockingFile& file, const std::string& path, const struct stat& about,
                            Finisher& finisher, bool sync) {
    std::string copy = path + ".finishing.tmp";
    BlockingFile to(::open(copy.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, about.st_mode & 0777));
    if (!to.is_open()) return fail_errno("creating " + copy, errno);
    auto write = [&]() -> Result<void> {
        auto plan = finisher.plan_copy();
        uint64_t at = TRY(write_pieces(to, 0, plan.pieces));
        TRY(copy_range(file, plan.copy_from, plan.copy_size, to, at));
        TRY(synced(to, sync));
        if (::rename(copy.c_str(), path.c_str()) != 0) return fail_errno("renaming " + copy, errno);
        return {};
    };
    auto done = write();
    if (!done) ::unlink(copy.c_str());
    return done;
}

Result<FinishedMp4> finish(const std::string& path, const FinishOptions& options) {
    BlockingFile file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!file.is_open() && errno == ENOENT) return fail(Code::kNotFound, "no such file");
    if (!file.is_open()) return fail_errno("opening", errno);
    struct stat about;
    if (::fstat(file.fd(), &about) != 0) return fail_errno("fstat", errno);
    if (!S_ISREG(about.st_mode)) return fail(Code::kRefused, "no plain file");
    auto size = static_cast<uint64_t>(about.st_size);
    Finisher finisher(size);
    TRY(scan(file, finisher));
    FinishedMp4 out;
    out.duration_ms = finisher.duration_ms();
    out.samples = finisher.samples();
    out.was_finished = finisher.finished_already();
    if (!out.was_finished) {
        out.cut_bytes = size - finisher.media_end();
        if (out.cut_bytes && ::ftruncate(file.fd(), static_cast<off_t>(finisher.media_end())) != 0)
            return fail_errno("cutting the torn end", errno);
        auto block = options.insert ? static_cast<uint64_t>(about.st_blksize) : 0;
        auto plan = finisher.plan(block);
        out.how = plan && plan->insert_size ? FinishedMp4::How::kInserted : FinishedMp4::How::kInPlace;
        if (!TRY(finish_in_place(file, finisher, block, options.sync))) {
            out.how = FinishedMp4::How::kCopied;
            TRY(finish_by_copy(file, path, about, finisher, options.sync));
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
