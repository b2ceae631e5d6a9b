#include "net/http/static_files.h"

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "net/access/file_access.h"
#include "net/http/flv_start.h"
#include "net/http/opened_files.h"
#include "net/http/representation.h"
#include "protocol/http/headers.h"
#include "protocol/http/mime.h"

namespace net {

namespace {

bool is_playlist(std::string_view path) { return path.ends_with(".m3u8") || path.ends_with(".mpd"); }

// The digits that a text begins with, as SRS reads it.
int64_t leading_number(std::string_view text) {
    int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// ?start=BYTES of an FLV file; 0: none.
uint64_t wanted_start(std::string_view path, const http::Request& message) {
    if (!path.ends_with(".flv")) return 0;
    return static_cast<uint64_t>(std::max<int64_t>(leading_number(message.parameter("start")), 0));
}

// ?range=A-B and ?bytes=A-B of an MP4 file are what Range: bytes=A-B is, except that an A that is not there is 0.
std::optional<std::string> wanted_range(std::string_view path, const http::Request& message) {
    if (!path.ends_with(".mp4")) return std::nullopt;
    std::string_view text = message.parameter("range");
    if (text.empty()) text = message.parameter("bytes");
    if (text.find('-') == text.npos) return std::nullopt;
    return fmt::format("bytes={}{}", text.starts_with('-') ? "0" : "", text);
}

base::Result<void> send_file(const OpenedFilePtr& file, std::string_view path, const HttpRequest& request,
                             HttpResponse& response, const ResponseHeaders* headers, std::string_view content_type) {
    const auto size = static_cast<uint64_t>(file->info.st_size);
    const Representation what{size, {file->etag, file->info.st_mtim.tv_sec}, file->last_modified};
    const bool goes_on = TRY(check_conditions(what, request, response, [&] {
        if (is_playlist(path)) response.header("Cache-Control", "no-cache");
        if (headers)
            for (const auto& [name, value] : *headers) response.header(name, value);
    }));
    if (!goes_on) return {};
    if (const uint64_t start = wanted_start(path, request.message); start > 0 && start < size) {
        FileParts parts = TRY(flv_parts_from(*file, start));
        if (!parts.empty()) return response.send_files(200, http::mime_type(path), std::move(parts));
    }
    const auto parts = [&](const http::ByteRange& range) {
        FileParts out;
        out.push_back({file->source, range.first, range.length, is_playlist(path)});
        return out;
    };
    return send_wanted(what, content_type.empty() ? http::mime_type(path) : content_type, request, response, parts,
                       wanted_range(path, request.message));
}

// In capitals too, because some file systems ignore case.
bool is_growing(std::string_view path) {
    static constexpr std::string_view kGrowing = ".tmp";
    return path.size() >= kGrowing.size() &&
           http::equal_ignoring_case(path.substr(path.size() - kGrowing.size()), kGrowing);
}

}  // namespace

base::Result<void> StaticFiles::serve(std::string_view path, const HttpRequest& request, HttpResponse& response,
                                      std::string_view content_type) const {
    while (path.starts_with('/')) path.remove_prefix(1);
    if (is_growing(path)) return {};
    std::string index;
    bool as_directory = path.empty() || path.ends_with('/');
    auto open = [&](std::string_view below) {
        return response.opened_files().open(
            {directory_, below, kinds_ == Kinds::kRegularOnly, access_ ? access_->owners() : nullptr});
    };
    auto file = TRY(open(path));
    if (file->error == 0 && file->is_directory) {
        index.append(path).append(as_directory ? "index.html" : "/index.html");
        path = index;
        file = TRY(open(path));
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
            if (sent && !response.started()) sent = send_file(file, path, request, response, headers_, content_type);
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
