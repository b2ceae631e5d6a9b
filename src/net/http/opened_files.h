#pragma once
// OpenedFiles: files of static_files.h that were opened in the last second, so that one that many ask for is opened
// once in that time, however many ask at once. An entry ends
//  - after kKeptMs: then links, directories, owners and rights on the way to it are looked at again;
//  - at once when the file itself was removed, replaced, renamed or changed, which its own attributes show;
//  - when there are more than the limit: the one that was asked for longest ago.
// What does not exist is not kept. Nothing is kept of a file system that cannot report attributes without waiting.

#include <sys/stat.h>

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "net/access/file_owners.h"
#include "runtime/disk/file_source.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"

namespace net {

struct OpenedFile {
    std::shared_ptr<runtime::disk::FileSource> source{};  // null: none, see error and is_directory
    struct stat info {};
    int error = 0;  // errno
    bool is_directory = false;
    std::string etag{}, last_modified{};  // as in the header fields
    std::string real_path{};              // only if owners were asked for
    FileOwnership ownership{};
};
using OpenedFilePtr = std::shared_ptr<const OpenedFile>;

class OpenedFiles {
  public:
    static constexpr int64_t kKeptMs = 1000;
    static constexpr size_t kDefaultLimit = 64;

    struct Wanted {
        std::string_view directory;
        std::string_view path;                     // below the directory
        bool regular_only = false;                 // StaticFiles::Kinds::kRegularOnly
        std::shared_ptr<const FileOwners> owners;  // null: ownership is not needed
    };

    OpenedFiles() = default;
    OpenedFiles(const OpenedFiles&) = delete;
    ~OpenedFiles();  // yields

    // Yields unless the file is kept; what is wanted must stay until then. Fails where the workers have too much to do;
    // that there is no such file is in the result's error.
    base::Result<OpenedFilePtr> open(const Wanted& wanted);
    // Files to be kept beside so many connections, of which each needs a descriptor.
    static size_t limit_beside(int64_t max_connections);
    void set_limit(size_t files);
    size_t size() const { return kept_.size(); }

  private:
    struct Kept {
        std::string key;
        OpenedFilePtr file;
        std::shared_ptr<const FileOwners> owners;
        int64_t opened_ms;
    };
    struct Opening {
        runtime::Event done{"the opening of a file"};
        OpenedFilePtr file;  // null: whoever opened it was cancelled
    };

    OpenedFilePtr find(const std::string& key, const Wanted& wanted);
    void keep(std::string key, const Wanted& wanted, OpenedFilePtr file, int64_t opened_ms);
    void drop(std::list<Kept>::iterator kept);
    void drop_all();
    void sweep();

    size_t limit_ = kDefaultLimit;
    std::list<Kept> kept_;  // the one asked for last is first
    std::unordered_map<std::string_view, std::list<Kept>::iterator> by_key_;
    std::unordered_map<std::string, std::shared_ptr<Opening>> opening_;
    runtime::Task sweeping_;
};

}  // namespace net
