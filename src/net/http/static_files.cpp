#include "net/http/static_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "net/access/file_access.h"
#include "protocol/http/conditional.h"
#include "protocol/http/date.h"
#include "protocol/http/mime.h"
#include "protocol/http/range.h"
#include "runtime/disk/file_owner.h"
#include "runtime/threads/workers.h"

namespace net {

namespace {

class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_;
};

// State shared between a worker and the connection. The worker writes it while the connection waits; a cancelled
// connection leaves it to the worker.
struct OpenedFile {
    Descriptor fd;
    struct stat info {};
    int error = 0;  // errno
    bool is_directory = false;
    std::string real_path;
    FileOwnership ownership;
    std::vector<uint8_t> piece;
    ssize_t piece_bytes = 0;
};

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // non-blocking: a FIFO must not block a worker

// For kernels without openat2, or that forbid it: opens one path component at a time, and follows no symbolic links.
Descriptor open_stepwise(int root, const std::string& path) {
    Descriptor here(dup(root));
    size_t start = 0;
    while (here && start < path.size()) {
        size_t end = std::min(path.find('/', start), path.size());
        std::string segment = path.substr(start, end - start);
        start = end + 1;
        if (segment.empty() || segment == ".") continue;
        if (segment == "..") {
            errno = EXDEV;
            return Descriptor();
        }
        here = Descriptor(openat(here.get(), segment.c_str(), kOpenFlags | O_NOFOLLOW));
    }
    return here;
}

Descriptor open_beneath(int root, const std::string& path, StaticFiles::Kinds kinds) {
    open_how how{};
    how.flags = kOpenFlags;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (kinds == StaticFiles::Kinds::kRegularOnly) how.resolve |= RESOLVE_NO_SYMLINKS;
    auto fd = static_cast<int>(syscall(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return open_stepwise(root, path);
    return Descriptor(fd);
}

// Absolute, without symbolic links, however the file was found. Empty: the system does not report it.
std::string real_path_of(int fd) {
    std::string path(4096, '\0');
    const ssize_t n = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path.data(), path.size());
    path.resize(n > 0 && static_cast<size_t>(n) < path.size() ? static_cast<size_t>(n) : 0);
    return path;
}

// Runs on a worker. owners: null: ownership is not needed.
void open_file(const std::string& directory, const std::string& path, StaticFiles::Kinds kinds,
               const FileOwners* owners, OpenedFile& out) {
    Descriptor root(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    out.fd = root ? open_beneath(root.get(), path, kinds) : Descriptor();
    if (!out.fd || fstat(out.fd.get(), &out.info) < 0) {
        out.error = errno;
        return;
    }
    if (kinds == StaticFiles::Kinds::kRegularOnly && !S_ISREG(out.info.st_mode)) {
        out.error = ENOENT;
        return;
    }
    out.is_directory = S_ISDIR(out.info.st_mode);
    if (out.is_directory) return;
    if (!S_ISREG(out.info.st_mode)) {
        out.error = EACCES;
        return;
    }
    if (!owners) return;
    out.real_path = real_path_of(out.fd.get());
    if (out.real_path.empty()) {
        out.error = EACCES;  // its owner cannot be determined
        return;
    }
    out.ownership = owners->find(out.real_path, runtime::file_owner(out.fd.get()));
}

base::Result<std::shared_ptr<OpenedFile>> open_on_worker(const std::string& directory, const std::string& path,
                                                         StaticFiles::Kinds kinds,
                                                         std::shared_ptr<const FileOwners> owners) {
    auto file = std::make_shared<OpenedFile>();
    TRY(runtime::offload(
        [file, directory, path, kinds, owners] { open_file(directory, path, kinds, owners.get(), *file); },
        runtime::Deadline::in_ms(30'000)));
    return file;
}

bool is_playlist(std::string_view path) { return path.ends_with(".m3u8") || path.ends_with(".mpd"); }

base::Result<void> send_range(const std::shared_ptr<OpenedFile>& file, http::ByteRange range, HttpResponse& response) {
    while (range.length > 0) {
        size_t n = static_cast<size_t>(std::min<uint64_t>(range.length, StaticFiles::kPieceBytes));
        auto job = [file, n, offset = range.first] {
            file->piece.resize(n);
            file->piece_bytes = pread(file->fd.get(), file->piece.data(), n, static_cast<off_t>(offset));
            if (file->piece_bytes < 0) file->error = errno;
        };
        TRY(runtime::offload(std::move(job), runtime::Deadline::in_ms(30'000)));
        if (file->piece_bytes < 0) return base::fail_errno("reading a file", file->error);
        // The file was cut while it was being read. The response is then too short, and the connection is closed.
        if (file->piece_bytes == 0) return {};
        auto bytes = static_cast<size_t>(file->piece_bytes);
        TRY(response.write(std::span(file->piece.data(), bytes)));
        range.first += bytes;
        range.length -= bytes;
    }
    return {};
}

base::Result<void> send_file(const std::shared_ptr<OpenedFile>& file, std::string_view path, const HttpRequest& request,
                             HttpResponse& response, const ResponseHeaders* headers) {
    const auto& info = file->info;
    auto size = static_cast<uint64_t>(info.st_size);
    std::string etag =
        fmt::format("\"{:x}-{:x}\"", size, info.st_mtim.tv_sec * INT64_C(1'000'000'000) + info.st_mtim.tv_nsec);
    http::Validators validators{etag, info.st_mtim.tv_sec};
    const http::Headers& fields = request.message.headers;
    if (http::precondition_failed(fields, validators)) return response.send_error(412);
    response.header("ETag", etag).header("Last-Modified", http::format_date(info.st_mtim.tv_sec));
    if (is_playlist(path)) response.header("Cache-Control", "no-cache");
    if (headers)
        for (const auto& [name, value] : *headers) response.header(name, value);
    if (http::not_modified(fields, validators)) return response.send(304, {}, {});
    response.header("Accept-Ranges", "bytes");
    http::RangeResult range;
    if (http::range_applies(fields, validators)) range = http::parse_range(fields.get("Range"), size);
    if (range.kind == http::RangeResult::Kind::kUnsatisfiable) {
        response.header("Content-Range", http::content_range_unsatisfied(size));
        return response.send_error(416);
    }
    bool part = range.kind == http::RangeResult::Kind::kPart;
    if (part) {
        response.header("Content-Range", http::content_range(range.range, size));
    } else {
        range.range = {0, size};
    }
    TRY(response.begin(part ? 206 : 200, http::mime_type(path), range.range.length));
    if (!request.is_head()) TRY(send_range(file, range.range, response));
    return response.end();
}

// Closing may free a file that was removed meanwhile, which can take long. If a slow read is still running on a worker,
// that worker holds the last reference and closes the file.
void close_on_worker(std::shared_ptr<OpenedFile> file) {
    (void)runtime::offload([file = std::move(file)]() mutable { file.reset(); }, runtime::Deadline::in_ms(30'000));
}

// In capitals too, because some file systems ignore case.
bool is_growing(std::string_view path) {
    static constexpr std::string_view kGrowing = ".tmp";
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return path.size() >= kGrowing.size() && std::ranges::equal(path.substr(path.size() - 4), kGrowing, {}, lower);
}

}  // namespace

base::Result<void> StaticFiles::serve(std::string_view path, const HttpRequest& request, HttpResponse& response) const {
    while (path.starts_with('/')) path.remove_prefix(1);
    if (is_growing(path)) return {};
    std::string name(path);
    bool as_directory = name.empty() || name.ends_with('/');
    const auto owners = access_ ? access_->owners() : nullptr;
    auto file = TRY(open_on_worker(directory_, name, kinds_, owners));
    if (file->error == 0 && file->is_directory) {
        name += as_directory ? "index.html" : "/index.html";
        file = TRY(open_on_worker(directory_, name, kinds_, owners));
        // The directory exists, but directories are not listed.
        if (file->error == ENOENT || file->is_directory) return response.send_error(403);
        if (!as_directory && file->error == 0) {
            std::string location = http::percent_encode(request.message.path) + "/";
            if (!request.message.raw_query.empty()) location += "?" + request.message.raw_query;
            return response.redirect(301, location);
        }
    } else if (file->error == 0 && as_directory) {
        return {};
    }
    switch (file->error) {
        case 0: {
            base::Result<void> sent;
            if (access_) sent = access_->admit(file->ownership, file->real_path, request, response);
            if (sent && !response.started()) sent = send_file(file, name, request, response, headers_);
            close_on_worker(std::move(file));
            return sent;
        }
        case EACCES:
        case EPERM:
            return response.send_error(403);
        case EMFILE:
        case ENFILE:
            return base::fail_errno("opening a file", file->error);
        default:
            return {};
    }
}

}  // namespace net
