#include "service/hls/handover/state_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/bytes.h"
#include "runtime/loop/coroutine.h"
#include "runtime/threads/workers.h"

namespace service::hls {

using base::Code;
using base::fail;
using base::Result;
using runtime::disk::PagedBytes;

namespace {

constexpr std::string_view kMagic("SRSHLS\n\0", 8);
constexpr size_t kHeadBytes = 16, kEntryBytes = 12;
constexpr uint64_t kMaxStatesBytes = uint64_t{512} << 20;
constexpr size_t kMaxStreams = 100'000;
constexpr size_t kAtOnce = 256 * 1024;

Result<void> write_all(int fd, std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return base::fail_errno("what HLS leaves", n < 0 ? errno : ENOSPC);
        bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return {};
}

Result<void> copy_all(int to, int from, uint64_t offset, uint64_t length) {
    auto at = static_cast<off_t>(offset);
    while (length > 0) {
        const ssize_t n = ::sendfile(to, from, &at, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return base::fail_errno("what HLS leaves", n < 0 ? errno : EIO);
        length -= static_cast<uint64_t>(n);
    }
    return {};
}

Result<void> read_all(int fd, std::span<uint8_t> out, uint64_t offset) {
    while (!out.empty()) {
        const ssize_t n = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return base::fail_errno("what HLS has left", errno);
        if (n == 0) return fail(Code::kProtocol, "what HLS has left is cut off");
        out = out.subspan(static_cast<size_t>(n));
        offset += static_cast<uint64_t>(n);
    }
    return {};
}

// On a worker, but for its construction.
struct Copying {
    runtime::OwnedDescriptors file{};  // its own: the job runs on where its caller is cancelled
    std::vector<uint8_t> head{};
    struct Range {
        int fd;
        uint64_t offset, length;
    };
    std::vector<Range> ranges{};
    std::vector<PagedBytes::Part> held{};  // so that they stay where they are
    Result<void> result{};

    void run() {
        const int fd = file.all().front();
        result = write_all(fd, head);
        for (const Range& range : ranges)
            if (result) result = copy_all(fd, range.fd, range.offset, range.length);
    }
};

Result<std::shared_ptr<PagedBytes>> read_blob(int fd, uint64_t offset, uint64_t size) {
    auto pages = std::make_shared<PagedBytes>();
    std::vector<uint8_t> buffer(std::min<uint64_t>(kAtOnce, size));
    while (size > 0) {
        const std::span<uint8_t> next(buffer.data(), std::min<uint64_t>(buffer.size(), size));
        TRY(read_all(fd, next, offset));
        TRY(pages->append(next));
        offset += next.size();
        size -= next.size();
        TRY(runtime::yield());
    }
    return pages;
}

Result<std::vector<uint8_t>> read_states(int fd, uint64_t size) {
    std::vector<uint8_t> bytes(size);
    for (uint64_t at = 0; at < size; at += kAtOnce) {
        TRY(read_all(fd, std::span(bytes).subspan(at, std::min<uint64_t>(kAtOnce, size - at)), kHeadBytes + at));
        TRY(runtime::yield());
    }
    return bytes;
}

// The bytes of the blobs of a state.
Result<void> read_blobs(int fd, uint64_t offset, uint64_t end, StreamState& state) {
    for (const uint64_t size : state.blob_sizes) {
        if (size > end - offset) return fail(Code::kProtocol, "the state of a stream has more bytes than it says");
        state.left.blobs.push_back(TRY(read_blob(fd, offset, size)));
        offset += size;
    }
    return {};
}

}  // namespace

Result<runtime::OwnedDescriptors> write_state_file(std::vector<StreamState> states) {
    runtime::OwnedDescriptors file({memfd_create("hls-handover", MFD_CLOEXEC)});
    if (file.all().front() < 0) {
        static_cast<void>(file.release());
        return base::fail_errno("memfd_create", errno);
    }
    auto copying = std::make_shared<Copying>();
    copying->file = std::move(file);
    std::vector<uint8_t>& all = copying->head;
    base::ByteWriter(all).text(kMagic);
    base::ByteWriter(all).u64(0);
    std::vector<uint8_t> one;
    for (StreamState& state : states) {
        state.blob_sizes.clear();
        uint64_t blob_bytes = 0;
        for (const auto& blob : state.left.blobs) {
            state.blob_sizes.push_back(blob->size());
            blob_bytes += blob->size();
        }
        one.clear();
        write_state(state, one);
        TRY(runtime::yield());
        if (one.size() > StreamState::kMaxBytes || all.size() + one.size() > kMaxStatesBytes) continue;
        base::ByteWriter(all).u32(static_cast<uint32_t>(one.size()));
        base::ByteWriter(all).u64(blob_bytes);
        base::ByteWriter(all).bytes(one);
        for (const auto& blob : state.left.blobs)
            for (PagedBytes::Part& part : blob->parts(0, blob->size())) {
                copying->ranges.push_back({part.source->fd(), part.offset, part.length});
                copying->held.push_back(std::move(part));
            }
    }
    std::vector<uint8_t> size;
    base::ByteWriter(size).u64(all.size() - kHeadBytes);
    std::ranges::copy(size, all.begin() + static_cast<ptrdiff_t>(kMagic.size()));
    TRY(runtime::offload([copying] { copying->run(); }, runtime::Deadline::never()));
    TRY(std::move(copying->result));
    return std::move(copying->file);
}

Result<std::vector<StreamState>> read_state_file(int fd, std::vector<std::string>& problems) {
    std::array<uint8_t, kHeadBytes> head{};
    TRY(read_all(fd, head, 0));
    base::ByteReader reader(head);
    if (reader.text(kMagic.size()) != kMagic) return fail(Code::kProtocol, "what HLS has left is no such file");
    const uint64_t size = reader.u64();
    struct stat info {};
    if (fstat(fd, &info) != 0) return base::fail_errno("what HLS has left", errno);
    const auto file_bytes = static_cast<uint64_t>(std::max<off_t>(0, info.st_size));
    if (size > kMaxStatesBytes || size > file_bytes) return fail(Code::kProtocol, "what HLS has left is cut off");
    const std::vector<uint8_t> bytes = TRY(read_states(fd, size));
    std::vector<StreamState> states;
    uint64_t offset = kHeadBytes + size;
    for (base::ByteReader all(bytes); all.left() >= kEntryBytes && states.size() < kMaxStreams;) {
        const uint32_t length = all.u32();
        const uint64_t blob_bytes = all.u64();
        auto state = read_state(all.bytes(length));
        if (offset > file_bytes || blob_bytes > file_bytes - offset) {
            problems.emplace_back("what HLS has left is cut off");
            break;
        }
        const uint64_t begin = std::exchange(offset, offset + blob_bytes);
        auto read = state ? read_blobs(fd, begin, offset, *state) : std::unexpected(std::move(state.error()));
        if (!read && read.error().code() == Code::kCancelled) return std::unexpected(std::move(read.error()));
        if (read)
            states.push_back(*std::move(state));
        else
            problems.push_back(read.error().text());
        TRY(runtime::yield());
    }
    return states;
}

}  // namespace service::hls
