#include "service/dvr/finishing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "protocol/flv/recording.h"
#include "runtime/disk/blocking_file.h"
#include "runtime/disk/file_owner.h"
#include "service/dvr/container.h"
#include "service/dvr/finish_mp4.h"

namespace service::dvr {

using base::Code;
using base::fail;
using base::fail_errno;
using base::Result;
using runtime::BlockingFile;

namespace {

constexpr size_t kPiece = 1024 * 1024;
constexpr size_t kMaxHead = 4 * 1024 * 1024;
constexpr int kMaxNumbers = 10'000;

Result<uint64_t> size_of(const std::string& path) {
    struct stat about;
    if (::lstat(path.c_str(), &about) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return fail(Code::kNotFound, path + " does not exist");
        return fail_errno(path, errno);
    }
    if (!S_ISREG(about.st_mode)) return fail(Code::kRefused, path + " is no plain file");
    return static_cast<uint64_t>(about.st_size);
}

Result<flv::ReadHead> read_head(const BlockingFile& file) {
    std::vector<uint8_t> probe(flv::kHeadProbe);
    probe.resize(TRY(file.read_at(0, probe)));
    size_t length = flv::recording_head_length(probe);
    if (length == 0 || length > kMaxHead) return fail(Code::kProtocol, "no FLV head of ours");
    std::vector<uint8_t> head(length);
    head.resize(TRY(file.read_at(0, head)));
    return flv::read_recording_head(head, kWriter);
}

Result<flv::RecordingScan> scan_tags(const BlockingFile& file, const flv::ReadHead& head) {
    flv::RecordingScan scan(head.size, flv::recording_head_room(head.about, head.size));
    std::vector<uint8_t> piece(kPiece);
    uint64_t offset = head.size;
    while (true) {
        size_t n = TRY(file.read_at(offset, piece));
        if (n == 0 || !scan.feed(std::span(piece).first(n))) return scan;
        offset += n;
    }
}

bool is_free(const std::string& path) { return ::access(path.c_str(), F_OK) != 0 && errno == ENOENT; }

}  // namespace

Result<std::string> rename_to_free(const std::string& growing, const std::string& path) {
    for (int number = 0; number < kMaxNumbers; ++number) {
        std::string name = numbered(path, number);
        if (::renameat2(AT_FDCWD, growing.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) return name;
        if (errno == EEXIST) continue;
        if (errno != EINVAL && errno != ENOSYS) return fail_errno("renaming to " + name, errno);
        // The file system does not support the flag.
        if (!is_free(name)) continue;
        if (::rename(growing.c_str(), name.c_str()) == 0) return name;
        return fail_errno("renaming to " + name, errno);
    }
    return fail(Code::kLimit, fmt::format("{} and {} names like it are taken", path, kMaxNumbers - 1));
}

Result<Finished> repair_flv(const std::string& growing) {
    TRY(size_of(growing));  // a plain file
    auto file = TRY(BlockingFile::open(growing, O_RDWR));
    flv::ReadHead head = TRY(read_head(file), growing);
    if (flv::recording_head_size(head.about, 0) > head.size)
        return fail(Code::kProtocol, growing + ": the room at its head is too small");
    flv::RecordingScan scan = TRY(scan_tags(file, head), growing);
    if (scan.index().frames() == 0) return Finished{};
    uint64_t end = scan.whole_end();
    if (::ftruncate(file.fd(), static_cast<off_t>(end)) != 0) return fail_errno("cutting " + growing, errno);
    TRY(file.write_at(0, flv::recording_head(head.about, scan.index(), end, head.size)), growing);
    return Finished{growing, scan.index().duration_ms(), end};
}

Result<Finished> finish_file(const std::string& growing, const std::string& path, bool whole, int64_t duration_ms,
                             const std::string& owner) {
    // Not inside the braces: a return from there would leave the members that were already constructed.
    uint64_t size = TRY(size_of(growing));
    Finished finished{growing, duration_ms, size};
    if (finished.bytes == 0) {
        finished = {};
    } else if (format_of(path) == Format::kMp4) {
        auto mp4 = finish_mp4(growing);
        if (!mp4 && mp4.error().code() != Code::kNotFound) return std::unexpected(std::move(mp4.error()));
        finished = mp4 ? Finished{growing, mp4->duration_ms, mp4->bytes} : Finished{};
    } else if (!whole) {
        finished = TRY(repair_flv(growing));
    }
    if (finished.path.empty()) {
        if (::unlink(growing.c_str()) != 0) return fail_errno("removing " + growing, errno);
        return finished;
    }
    runtime::set_file_owner(growing, owner);
    finished.path = TRY(rename_to_free(growing, path));
    return finished;
}

}  // namespace service::dvr
