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
constexpr size_t kHeadBytes = 16;
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
    int fd = -1;
    std::vector<uint8_t> head{};
    struct Range {
        int fd;
        uint64_t offset, length;
    };
    std::vector<Range> ranges{};
    std::vector<PagedBytes::Part> held{};  // so that they stay where they are
    Result<void> result{};

    void run() {
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
    }
    return pages;
}

}  // namespace

Result<runtime::OwnedDescriptors> write_state_file(std::vector<StreamState> states) {
    runtime::OwnedDescriptors file({memfd_create("hls-handover", MFD_CLOEXEC)});
    if (file.all().front() < 0) {
        static_cast<void>(file.release());
        return base::fail_errno("memfd_create", errno);
    }
    auto copying = std::make_shared<Copying>();
    copying->fd = file.all().front();
    std::vector<uint8_t> all, one;
    for (StreamState& state : states) {
        state.blob_sizes.clear();
        for (const auto& blob : state.left.blobs) state.blob_sizes.push_back(blob->size());
        one.clear();
        write_state(state, one);
        if (one.size() > StreamState::kMaxBytes || all.size() + one.size() > kMaxStatesBytes) continue;
        base::ByteWriter(all).u32(static_cast<uint32_t>(one.size()));
        base::ByteWriter(all).bytes(one);
        for (const auto& blob : state.left.blobs)
            for (PagedBytes::Part& part : blob->parts(0, blob->size())) {
                copying->ranges.push_back({part.source->fd(), part.offset, part.length});
                copying->held.push_back(std::move(part));
            }
    }
    base::ByteWriter(copying->head).text(kMagic);
    base::ByteWriter(copying->head).u64(all.size());
    base::ByteWriter(copying->head).bytes(all);
    TRY(runtime::offload([copying] { copying->run(); }, runtime::Deadline::never()));
    TRY(std::move(copying->result));
    return file;
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
    std::vector<uint8_t> bytes(size);
    TRY(read_all(fd, bytes, kHeadBytes));
    std::vector<StreamState> states;
    uint64_t offset = kHeadBytes + size;
    for (base::ByteReader all(bytes); all.left() > 0 && states.size() < kMaxStreams;) {
        const uint32_t length = all.u32();
        auto state = read_state(all.bytes(length));
        // Where the bytes of the others are is not known either.
        if (!state) {
            problems.push_back(state.error().text());
            break;
        }
        for (const uint64_t blob : state->blob_sizes) {
            if (offset > file_bytes || blob > file_bytes - offset)
                return fail(Code::kProtocol, "what HLS has left is cut off");
            auto pages = TRY(read_blob(fd, offset, blob));
            state->left.blobs.push_back(std::move(pages));
            offset += blob;
            TRY(runtime::yield());
        }
        states.push_back(*std::move(state));
    }
    return states;
}

}  // namespace service::hls
