#include "runtime/disk/file_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include "runtime/disk/disk.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/threads/workers.h"

namespace runtime::disk {
namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kMaxPopulated = 512 * 1024;
// Of all files together: so much is locked in memory at most, and half of what the process may lock.
constexpr uint64_t kMaxLocked = 32 * 1024 * 1024;
std::atomic<uint64_t> locked_bytes{0};

// Blocks. The pages stay in memory until they are unmapped.
bool lock_in_memory(void* mapping, size_t bytes) {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return false;
    const uint64_t most = std::min<uint64_t>(kMaxLocked, limit.rlim_cur / 2);
    if (locked_bytes.fetch_add(bytes) + bytes <= most && mlock(mapping, bytes) == 0) return true;
    locked_bytes -= bytes;
    return false;
}

// Runs the job on a worker, unless the caller has gone when its turn comes: with a disk that is late, reads that nobody
// waits for would keep the others waiting, and the end of the server.
base::Result<void> offload_while_wanted(std::move_only_function<void()> job, Deadline deadline) {
    const auto wanted = std::make_shared<std::atomic<bool>>(true);
    auto result = offload(
        [wanted, job = std::move(job)]() mutable {
            if (*wanted) job();
        },
        deadline);
    *wanted = false;
    return result;
}

ssize_t read_cached(int fd, std::span<uint8_t> buffer, uint64_t offset) {
    const iovec part{buffer.data(), buffer.size()};
    return preadv2(fd, &part, 1, static_cast<off_t>(offset), RWF_NOWAIT);
}

// Asked at the end, where nothing is read.
bool file_system_tells(int fd, uint64_t size) {
    uint8_t byte;
    return read_cached(fd, std::span(&byte, 1), size) >= 0 || errno == EAGAIN;
}

// For anybody else mincore() reports every page as present.
bool mincore_is_honest(int fd) {
    struct stat info {};
    if (fstat(fd, &info) == 0 && info.st_uid == geteuid()) return true;
    return faccessat(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd).c_str(), W_OK, AT_EACCESS) == 0;
}

// Waits as an injected fault says; the errno that it asks for.
int suffer(const ReadFault& fault) {
    if (fault.delay_ms > 0) usleep(static_cast<useconds_t>(fault.delay_ms * 1000));
    return fault.error;
}

}  // namespace

FileSource::File::~File() {
    release_on_worker([fd = fd, mapping = mapping, mapped = mapped, locked = locked] {
        if (mapping) munmap(mapping, mapped);
        if (locked) locked_bytes -= mapped;
        close(fd);
    });
}

FileSource::FileSource(int fd, uint64_t size, std::string path)
    : file_(std::make_shared<File>(fd)), path_(std::move(path)), reads_now_(file_system_tells(fd, size)) {
    // No reading ahead: sendfile() would begin it on the loop, and it may wait for the file's map of blocks.
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    if (!reads_now_ || size == 0 || sysconf(_SC_PAGESIZE) != static_cast<long>(kPage) || !mincore_is_honest(fd)) return;
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (mapping == MAP_FAILED) return;
    file_->mapping = mapping;
    file_->mapped = size;
    // Only if that reads nothing from the disk.
    if (size > kMaxPopulated || !is_all_resident()) return;
    file_->locked = lock_in_memory(mapping, size);
    // Pages that are in the process's page table are found by mincore() in a quarter of the time.
    if (!file_->locked) madvise(mapping, size, MADV_POPULATE_READ);
}

bool FileSource::is_all_resident() const {
    for (uint64_t at = 0; at < file_->mapped;) {
        const size_t bytes = resident(at, kMaxResident);
        if (bytes == 0) return false;
        at += bytes;
    }
    return true;
}

FileSource::FileSource(InMemory, int fd) : file_(std::make_shared<File>(fd)), reads_now_(true), in_memory_(true) {}

size_t FileSource::resident(uint64_t offset, size_t bytes) const {
    if (in_memory_) return std::min(bytes, kMaxResident);
    if (!file_->mapping || offset >= file_->mapped) return 0;
    if (file_->locked) return std::min<uint64_t>({bytes, file_->mapped - offset, kMaxResident});
    std::array<unsigned char, kMaxResident / kPage + 1> pages;
    const size_t within = offset % kPage;
    bytes = std::min<uint64_t>({bytes, file_->mapped - offset, pages.size() * kPage - within, kMaxResident});
    const size_t count = (within + bytes + kPage - 1) / kPage;
    if (mincore(static_cast<char*>(file_->mapping) + (offset - within), within + bytes, pages.data()) != 0) return 0;
    const auto absent = std::find_if(pages.begin(), pages.begin() + count, [](auto page) { return !(page & 1); });
    const size_t present = static_cast<size_t>(absent - pages.begin()) * kPage;
    return present > within ? std::min(present - within, bytes) : 0;
}

size_t FileSource::read_now(std::span<uint8_t> buffer, uint64_t offset) const {
    if (!reads_now_) return 0;
    // RWF_NOWAIT alone does not wait for the bytes, but has the kernel begin to read them.
    if (file_->mapping) buffer = buffer.first(resident(offset, buffer.size()));
    if (buffer.empty()) return 0;
    const ssize_t got = in_memory_ ? pread(file_->fd, buffer.data(), buffer.size(), static_cast<off_t>(offset))
                                   : read_cached(file_->fd, buffer, offset);
    return got > 0 ? static_cast<size_t>(got) : 0;
}

base::Result<void> FileSource::load(uint64_t offset, Deadline deadline) {
    const uint64_t block = offset / kBlockBytes;
    // Where the caller whose read it was has left meanwhile, the next one reads.
    for (auto found = loading_.find(block); found != loading_.end(); found = loading_.find(block)) {
        const auto loading = found->second;
        TRY(loading->ended.wait(deadline));
        // Hundreds may have waited: they neither wake up nor go on in one iteration of the loop.
        await_short_iteration();
        loading->ended.wake_next();
        if (loading->is_loaded) return {};
    }
    const auto loading = std::make_shared<Loading>();
    loading_[block] = loading;
    auto result = offload_while_wanted(
        [file = file_, at = block * kBlockBytes, fault = read_fault(path_)] {
            static thread_local std::array<uint8_t, 64 * 1024> nowhere;
            if (suffer(fault)) return;
            posix_fadvise(file->fd, static_cast<off_t>(at), kBlockBytes, POSIX_FADV_WILLNEED);  // all of it at once
            for (uint64_t done = 0; done < kBlockBytes;) {
                const ssize_t got = pread(file->fd, nowhere.data(), nowhere.size(), static_cast<off_t>(at + done));
                if (got <= 0) return;
                done += static_cast<size_t>(got);
            }
        },
        deadline);
    loading_.erase(block);
    loading->is_loaded = result.has_value();
    loading->ended.set_and_wake_one();
    return result;
}

base::Result<std::vector<uint8_t>> FileSource::read(uint64_t offset, size_t bytes, Deadline deadline) const {
    struct Piece {
        std::vector<uint8_t> bytes;
        int error = 0;
    };
    const auto piece = std::make_shared<Piece>();
    TRY(offload_while_wanted(
        [piece, file = file_, offset, bytes, fault = read_fault(path_)] {
            piece->error = suffer(fault);
            if (piece->error) return;
            piece->bytes.resize(bytes);
            const ssize_t got = pread(file->fd, piece->bytes.data(), bytes, static_cast<off_t>(offset));
            if (got < 0) piece->error = errno;
            piece->bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
        },
        deadline));
    if (piece->error) return base::fail_errno("reading a file", piece->error);
    return std::move(piece->bytes);
}

}  // namespace runtime::disk
