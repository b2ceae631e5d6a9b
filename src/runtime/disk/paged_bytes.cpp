#include "runtime/disk/paged_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/loop/clock.h"
#include "runtime/loop/immortal.h"
#include "runtime/threads/workers.h"

namespace runtime::disk {
namespace {

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // since Linux 6.1
#endif

constexpr uint64_t kSlotBytes = 64 * 1024 * 1024;
constexpr int64_t kCopyTimeoutMs = 10'000;
static_assert(PagedBytes::kMaxLargeBytes <= kSlotBytes, "bytes in large pages have one slot");

// The anonymous file, and which of its slots are free.
struct Memory {
    std::shared_ptr<FileSource> source;  // null: each has its own
    rlim_t max_file_bytes = 0;           // 0: not asked yet
    std::vector<uint64_t> free_slots;
    uint64_t slots = 0;                       // in use or free
    size_t users = 0;                         // PagedBytes::Slots
    uint64_t large_bytes = 0;                 // of large pages, those included to which a worker copies
    std::vector<PagedBytes*> in_large_pages;  // kMaxLargeBytes / kLargePageBytes at most

    uint64_t take_slot() {
        if (free_slots.empty()) return slots++;
        const uint64_t slot = free_slots.back();
        free_slots.pop_back();
        return slot;
    }
};

// Null: there is no descriptor.
std::shared_ptr<FileSource> open_memory() {
    const int fd = memfd_create("segments", MFD_CLOEXEC);
    return fd < 0 ? nullptr : std::make_shared<FileSource>(FileSource::InMemory{}, fd);
}

Memory& memory() {
    static detail::Immortal<Memory> instance;
    Memory& memory = instance.value;
    if (memory.max_file_bytes == 0) {
        rlimit limit{};
        memory.max_file_bytes = getrlimit(RLIMIT_FSIZE, &limit) == 0 ? std::max<rlim_t>(1, limit.rlim_cur) : 1;
        if (memory.max_file_bytes == RLIM_INFINITY) memory.source = open_memory();
    }
    return memory;
}

constexpr uint64_t in_whole_large_pages(uint64_t bytes) {
    return (bytes + PagedBytes::kLargePageBytes - 1) / PagedBytes::kLargePageBytes * PagedBytes::kLargePageBytes;
}

// On a worker. Copies bytes of the file to another offset of it, a multiple of a large page where nothing is yet, and
// has the kernel put them into large pages. They must not be in a socket's queue before that: pages which others hold
// are not moved. False: they are not in large pages.
bool copy_in_large_pages(int fd, uint64_t from, uint64_t to, uint64_t bytes) {
    const uint64_t room = in_whole_large_pages(bytes);
    // The kernel does not place a mapping of such a file at a multiple of a large page by itself.
    void* const space = mmap(nullptr, room + PagedBytes::kLargePageBytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return false;
    void* const target = reinterpret_cast<void*>(in_whole_large_pages(reinterpret_cast<uintptr_t>(space)));
    // The last byte is written first, so that none is beyond the file's end.
    const bool done =
        pwrite(fd, "", 1, static_cast<off_t>(to + room - 1)) == 1 &&
        mmap(target, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(to)) == target &&
        pread(fd, target, bytes, static_cast<off_t>(from)) == static_cast<ssize_t>(bytes) &&
        madvise(target, room, MADV_COLLAPSE) == 0;
    munmap(space, room + PagedBytes::kLargePageBytes);
    return done;
}

}  // namespace

// Slots of the file, and what they have; they are free again when nobody holds them.
struct PagedBytes::Slots {
    const bool is_own = !memory().source;  // the file
    const std::shared_ptr<FileSource> source = is_own ? open_memory() : memory().source;
    std::vector<uint64_t> numbers;
    uint64_t size = 0;
    uint64_t large_bytes = 0;  // 0: in pages of the usual size

    uint64_t begin() const { return numbers.front() * kSlotBytes; }

    Slots() { ++memory().users; }
    Slots(const Slots&) = delete;
    ~Slots() {
        for (const uint64_t slot : numbers) {
            if (is_own) break;
            fallocate(source->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(slot * kSlotBytes),
                      static_cast<off_t>(kSlotBytes));
            memory().free_slots.push_back(slot);
        }
        memory().large_bytes -= large_bytes;
        if (--memory().users == 0) memory() = {};  // the descriptor is closed
    }
};

PagedBytes::PagedBytes() : slots_(std::make_shared<Slots>()) {}

PagedBytes::~PagedBytes() {
    copying_.cancel();
    leave_large_pages();
}

uint64_t PagedBytes::size() const { return slots_->size; }

bool PagedBytes::in_large_pages() const { return large_ != nullptr; }

base::Result<void> PagedBytes::append(std::span<const uint8_t> bytes) {
    CHECK(!large_);
    if (!slots_->source) return base::fail_errno("keeping bytes in memory", EMFILE);
    // The kernel would end the process for it.
    if (bytes.size() > memory().max_file_bytes - std::min<rlim_t>(slots_->size, memory().max_file_bytes))
        return base::fail(base::Code::kLimit, "keeping bytes in memory: files may not be so large (RLIMIT_FSIZE)");
    while (!bytes.empty()) {
        const uint64_t within = slots_->size % kSlotBytes;
        if (slots_->size == slots_->numbers.size() * kSlotBytes)
            slots_->numbers.push_back(slots_->is_own ? slots_->numbers.size() : memory().take_slot());
        const size_t n = std::min<uint64_t>(bytes.size(), kSlotBytes - within);
        const auto at = static_cast<off_t>(slots_->numbers.back() * kSlotBytes + within);
        const ssize_t written = pwrite(slots_->source->fd(), bytes.data(), n, at);
        if (written <= 0) {
            if (written < 0 && errno == EINTR) continue;
            return base::fail_errno("keeping bytes in memory", written < 0 ? errno : ENOMEM);
        }
        slots_->size += static_cast<uint64_t>(written);
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
}

std::vector<PagedBytes::Part> PagedBytes::parts(uint64_t first, uint64_t length) const {
    std::vector<Part> out;
    const auto& slots = large_ ? large_ : slots_;
    length = std::min(length, size() - std::min(first, size()));
    while (length > 0) {
        const uint64_t within = first % kSlotBytes;
        const uint64_t n = std::min(length, kSlotBytes - within);
        // Who holds the source holds the slots.
        out.push_back({{slots, slots->source.get()}, slots->numbers[first / kSlotBytes] * kSlotBytes + within, n});
        first += n;
        length -= n;
    }
    return out;
}

void PagedBytes::count_reader() {
    if (large_)
        last_read_us_ = now_us();
    else if (++readers_ >= kManyReaders && size() >= kMinLargeBytes && copying_.done() && !slots_->is_own)
        copy_to_large_pages();
}

void PagedBytes::copy_to_large_pages() {
    const uint64_t room = in_whole_large_pages(size());
    if (memory().large_bytes + room > kMaxLargeBytes) take_from_unread();
    if (memory().large_bytes + room > kMaxLargeBytes) return;
    const auto to = std::make_shared<Slots>();
    to->numbers = {memory().take_slot()};
    to->size = size();
    to->large_bytes = room;
    memory().large_bytes += room;
    readers_ = 0;  // if this fails, it is tried again after as many
    copying_ = spawn("large-pages", [weak = weak_from_this(), from = slots_, to] {
        const auto copied = std::make_shared<bool>(false);
        const auto result = offload(
            [from, to, copied] {
                *copied = copy_in_large_pages(from->source->fd(), from->begin(), to->begin(), to->size);
            },
            Deadline::in_ms(kCopyTimeoutMs));
        const auto self = weak.lock();
        if (!self || !result || !*copied) return;
        self->large_ = to;
        self->last_read_us_ = now_us();
        memory().in_large_pages.push_back(self.get());
    });
}

// Large pages of bytes that were not read for a while are freed.
void PagedBytes::take_from_unread() {
    const auto& all = memory().in_large_pages;
    const auto oldest = std::ranges::min_element(all, {}, &PagedBytes::last_read_us_);
    if (oldest != all.end() && now_us() - (*oldest)->last_read_us_ >= kUnreadUs) (*oldest)->leave_large_pages();
}

void PagedBytes::leave_large_pages() {
    if (!std::exchange(large_, nullptr)) return;
    std::erase(memory().in_large_pages, this);
    readers_ = 0;
}

}  // namespace runtime::disk
