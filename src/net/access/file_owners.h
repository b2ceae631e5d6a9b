#pragma once
// FileOwners: whose a file is that HTTP finds on the disk: the vhost whose stream wrote it, and the stream. Told by the
// file's own path and what is kept with the file, never by what a request calls it.
//
//  1. A file that this server wrote says its stream itself (runtime/file_owner.h).
//  2. Without that, the vhosts own it of which a pattern of hls or dvr may have made its path.
//  3. Of other media files the vhosts that write the directory: the deepest that any does. http_static's dir counts
//     too, unless it is http_server's.
//
// Where several vhosts may have written it, all are its owners, and each has to admit a reader.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/snapshot.h"

namespace net {

struct FileOwner {
    std::string vhost{};
    std::string app{}, stream{};  // empty: not known
    std::string hls_path{};       // of the file, below the vhost's hls_path; empty: it is not there
    bool operator==(const FileOwner&) const = default;
};

struct FileOwnership {
    std::vector<FileOwner> owners{};  // one of each vhost
    bool orphaned = false;            // it was written for a vhost that there is no more, and nobody else's it can be
};

// Of one configuration. For worker threads.
class FileOwners {
  public:
    explicit FileOwners(const config::Snapshot& snapshot);

    // real_path: absolute, without symbolic links. mark: what file_owner() says of it. Blocks: looks where the
    // configured directories really are, once a second.
    FileOwnership find(std::string_view real_path, std::string_view mark) const;

  private:
    struct Claim {
        size_t vhost;
        size_t root;
        std::string pattern{};  // below the root; empty: every media file
    };
    struct OfVhost {
        std::string name;
        std::optional<size_t> hls_root{};
    };
    void add_hls(size_t vhost, const config::VhostHls& hls);
    void add_dvr(size_t vhost, const config::VhostDvr& dvr);
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
