#include "runtime/disk/paged_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "runtime/loop/immortal.h"

namespace runtime::disk {
namespace {

// The anonymous file, and which of its slots are free.
struct Memory {
    std::shared_ptr<FileSource> source;  // null: there is none
    bool opened = false;
    std::vector<uint64_t> free_slots;
    uint64_t slots = 0;  // in use or free
    size_t users = 0;    // PagedBytes

    uint64_t take_slot() {
        if (free_slots.empty()) return slots++;
        const uint64_t slot = free_slots.back();
        free_slots.pop_back();
        return slot;
    }
};

int open_memory() {
    // Offsets are far beyond a limit on the size of files, and the kernel would end the process for it.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) {
        errno = EFBIG;
        return -1;
    }
    return memfd_create("segments", MFD_CLOEXEC);
}

Memory& memory() {
    static detail::Immortal<Memory> instance;
    Memory& memory = instance.value;
    if (!std::exchange(memory.opened, true)) {
        const int fd = open_memory();
        if (fd >= 0)
            memory.source = std::make_shared<FileSource>(FileSource::InMemory{}, fd);
        else
            base::log::warn("no file in memory, segments are sent by copying: {}", std::strerror(errno));
    }
    return memory;
}

}  // namespace

bool PagedBytes::available() { return memory().source != nullptr; }

const std::shared_ptr<FileSource>& PagedBytes::source() { return memory().source; }

PagedBytes::PagedBytes() { ++memory().users; }

PagedBytes::~PagedBytes() {
    uint64_t left = size_;
    for (const uint64_t slot : slots_) {
        const uint64_t bytes = std::min(left, kSlotBytes);
        left -= bytes;
        if (bytes > 0)
            fallocate(source()->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(slot * kSlotBytes),
                      static_cast<off_t>(kSlotBytes));
        memory().free_slots.push_back(slot);
    }
    if (--memory().users == 0 && memory().source) memory() = {};  // the descriptor is closed
}

base::Result<void> PagedBytes::append(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        const uint64_t within = size_ % kSlotBytes;
        if (within == 0 && size_ == slots_.size() * kSlotBytes) slots_.push_back(memory().take_slot());
        const size_t n = std::min<uint64_t>(bytes.size(), kSlotBytes - within);
        const auto at = static_cast<off_t>(slots_.back() * kSlotBytes + within);
        const ssize_t written = pwrite(source()->fd(), bytes.data(), n, at);
        if (written <= 0) {
            if (written < 0 && errno == EINTR) continue;
            return base::fail_errno("keeping bytes in memory", written < 0 ? errno : ENOMEM);
        }
        size_ += static_cast<uint64_t>(written);
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
}

std::vector<PagedBytes::Part> PagedBytes::parts(uint64_t first, uint64_t length) const {
    std::vector<Part> out;
    length = std::min(length, size_ - std::min(first, size_));
    while (length > 0) {
        const uint64_t within = first % kSlotBytes;
        const uint64_t n = std::min(length, kSlotBytes - within);
        out.push_back({slots_[first / kSlotBytes] * kSlotBytes + within, n});
        first += n;
        length -= n;
    }
    return out;
}

}  // namespace runtime::disk
