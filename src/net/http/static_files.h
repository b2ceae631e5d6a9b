#pragma once
// StaticFiles: files below a directory over HTTP (RFC 9110: ranges, conditions; SRS: ?start= of FLV, ?range= and
// ?bytes= of MP4). Files are opened on a worker thread
// and kept for a second (opened_files.h); bodies are sent from the page cache, and a worker reads what is not there
// (file_body.h), so that memory is bounded whatever a file's size, and the loop waits for no disk. Nothing outside the
// directory is served: paths come without "..", and the kernel resolves them beneath the directory, symbolic links
// included. Not here: directory listings, compressing.
//
// A name that ends in .tmp is never served: a recorder or a segmenter is still writing that file, and its stream may
// have play rules of its own. For complete files a FileAccess decides.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http/http_exchange.h"

namespace net {

class FileAccess;

using ResponseHeaders = std::vector<std::pair<std::string_view, std::string_view>>;

class StaticFiles {
  public:
    // kRegularOnly: a directory, or anything else that is not a regular file, is no file, and no symbolic link below
    // the directory is followed.
    enum class Kinds : uint8_t { kSite, kRegularOnly };

    // directory: need not exist yet. access: asked about each file; null: the caller has checked access. headers: of
    // the answers that are about a file's content (200, 206, 304, 416); null: none. Both must outlive it.
    explicit StaticFiles(std::string directory, const FileAccess* access = nullptr,
                         const ResponseHeaders* headers = nullptr, Kinds kinds = Kinds::kSite)
        : directory_(std::move(directory)), access_(access), headers_(headers), kinds_(kinds) {}

    // Answers GET or HEAD for a path below the directory, percent-decoded, with or without a leading slash. Sends
    // nothing when there is no such file, so that the next route is tried. content_type: of a file that is another
    // one's compressed form; empty: what the path ends with says.
    base::Result<void> serve(std::string_view path, const HttpRequest& request, HttpResponse& response,
                             std::string_view content_type = {}) const;

  private:
    std::string directory_;
    const FileAccess* access_;
    const ResponseHeaders* headers_;
    Kinds kinds_;
};

}  // namespace net
