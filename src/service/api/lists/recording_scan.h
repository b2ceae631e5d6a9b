#pragma once
// The files of recordings below the directories of dvr_path: complete ones, whose names end in .flv or .mp4, and those
// that are being written. Regular files alone; symbolic links are not followed. It blocks: its steps run on a worker
// thread. Bounded by entries, depth and bytes of names.

#include <dirent.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/recorder.h"

namespace service::api {

// Whether a recording can have that path below its root: relative, without "." and "..", and with a name that ends in
// .flv or .mp4. Pure.
bool is_recording_path(std::string_view path);

struct RecordingFile {
    uint32_t root = 0;        // index into the roots
    uint32_t path_begin = 0;  // in RecordingFiles::text
    uint32_t path_size = 0;
    bool active = false;  // it is being written, and has its path when it is complete
    uint64_t bytes = 0;
    int64_t modified_ms = 0;  // wall clock
};

struct RecordingFiles {
    std::vector<RecordingRoot> roots;
    std::string text;                  // all paths
    std::vector<RecordingFile> files;  // newest first
    bool truncated = false;            // there are more than a bound allows
    std::string_view path(const RecordingFile& file) const {
        return std::string_view(text).substr(file.path_begin, file.path_size);
    }
};

class RecordingScan {
  public:
    struct Bounds {
        size_t entries = 100'000;  // files and directories that are looked at
        size_t depth = 8;          // directories below one another, below a root; deeper ones are skipped
        size_t text_bytes = 16 * 1024 * 1024;
    };

    // growing: paths of files that are being written, as Recorder::growing_files() has them.
    RecordingScan(std::vector<RecordingRoot> roots, const std::vector<std::string>& growing, const Bounds& bounds);
    RecordingScan(std::vector<RecordingRoot> roots, const std::vector<std::string>& growing)
        : RecordingScan(std::move(roots), growing, Bounds()) {}

    // Looks at that many entries. False: it is done.
    bool step(size_t entries);
    // Ends it early.
    void truncate() { stopped_ = files_.truncated = true; }
    // What was found, sorted. To be called once.
    RecordingFiles take();

  private:
    struct CloseDirectory {
        void operator()(DIR* directory) const { closedir(directory); }
    };
    struct Level {
        std::unique_ptr<DIR, CloseDirectory> directory;
        size_t path_size = 0;  // of path_, with the slash
    };
    bool next_root();
    void enter(int parent, const char* name, size_t path_size);
    void look_at(const Level& level, const char* name);
    void add(std::string_view path, const struct stat& info, bool active);

    const Bounds bounds_;
    RecordingFiles files_;
    std::set<std::string> growing_;  // normal forms
    bool stopped_ = false;
    size_t next_root_ = 0;
    size_t entries_ = 0;
    std::string path_;           // of the innermost directory, below its root; empty or with a slash at its end
    std::vector<Level> levels_;  // open directories, the root first
    // Directories that were entered, by device and number: roots may be the same, or below one another.
    std::set<std::pair<uint64_t, uint64_t>> entered_;
};

}  // namespace service::api
