#pragma once
// FileOwners: finds the owner of a file on disk that HTTP requests: the vhost whose stream wrote it, and the stream.
// Decided by the file's own path and the attribute stored with the file, never by the requested path.
//
//  1. A file that this server wrote carries its stream as an attribute (runtime/disk/file_owner.h).
//  2. Otherwise the owners are the vhosts whose services (FileClaims) may have produced its path.
//  3. For other media files: the vhosts that write to the deepest such directory above it. http_static's dir counts
//     too, unless it is http_server's.
//
// If several vhosts may have written it, all are owners, and each must admit the reader.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/snapshot.h"

namespace net {

// What a service writes to disk for a vhost.
struct FileClaims {
    struct Pattern {
        std::string root;     // a directory
        std::string pattern;  // below it, with variables: "[app]/[stream]-[seq].ts"
    };
    std::vector<Pattern> patterns{};
    // The directory of files that the service may still serve itself (LiveFiles); empty: there is none. Of several
    // services the last one counts.
    std::string live_root{};
    // For files whose names are made of those of other files: the path that the pattern gave, of a path below its root.
    // Null: there are none.
    std::string (*original)(std::string_view path){};
};
using ClaimsOf = std::function<FileClaims(const config::Vhost&)>;

struct FileOwner {
    std::string vhost{};
    std::string app{}, stream{};  // empty: not known
    std::string live_path{};      // path of the file below the vhost's live_root; empty: it is not there
    bool operator==(const FileOwner&) const = default;
};

struct FileOwnership {
    std::vector<FileOwner> owners{};  // one per vhost
    bool orphaned = false;            // it was written for a vhost that no longer exists, and no other vhost can own it
};

// For one configuration. Usable on worker threads.
class FileOwners {
  public:
    // claims: of each service that writes files.
    FileOwners(const config::Snapshot& snapshot, const std::vector<ClaimsOf>& claims);

    // real_path: absolute, without symbolic links. mark: the result of file_owner(). Blocks: resolves the configured
    // directories once a second.
    FileOwnership find(std::string_view real_path, std::string_view mark) const;

  private:
    struct Claim {
        size_t vhost;
        size_t root;
        std::string pattern{};  // below the root; empty: every media file
        std::string (*original)(std::string_view path){};
    };
    struct OfVhost {
        std::string name;
        std::optional<size_t> live_root{};
    };
    size_t root_index(std::string_view directory);
    std::vector<std::string> real_roots() const;
    std::vector<FileOwner> by_pattern(std::string_view path, const std::vector<std::string>& roots) const;
    std::vector<FileOwner> by_directory(std::string_view path, const std::vector<std::string>& roots) const;

    std::vector<OfVhost> vhosts_;
    std::vector<std::string> roots_;  // directories as configured
    std::vector<Claim> claims_;
    std::vector<Claim> static_claims_;  // of http_static
    size_t server_root_ = 0;

    mutable std::mutex mutex_;
    mutable std::vector<std::string> real_roots_;
    mutable int64_t real_roots_ms_ = 0;
};

}  // namespace net
