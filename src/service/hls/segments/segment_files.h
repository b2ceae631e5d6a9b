#pragma once
// SegmentFiles: the segments of a rendition as files. A segment is written under a temporary name. When it is complete,
// its key and initialisation segment are written, it is renamed, the playlist is rewritten, and only then is the host
// notified. Segments are processed one at a time, by a coroutine that exists while there is something to write. What
// cannot be written is a gap of the playlist. Whenever the process ends, the playlist on disk names only complete
// files; the next run reads it and continues after it.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "net/http/resources.h"
#include "runtime/disk/disk.h"
#include "service/hls/segments/segment_list.h"

namespace service::hls {

class SegmentFilesHost {
  public:
    // The playlist has changed on disk, and everything in it but the gaps is there; or a segment is lost.
    virtual void files_changed() = 0;
    // The segment and the playlist with it are on disk. path: with its directory.
    virtual void segment_on_disk(SegmentTimeline::Id id, const std::string& path) = 0;
    virtual void files_failed(const std::string& path, const base::Error& error) = 0;

  protected:
    ~SegmentFilesHost() = default;
};

struct SegmentFilesOptions {
    std::string vhost;
    std::string root;      // hls_path
    std::string key_root;  // hls_key_file_path
    bool cleanup = true;
    bool recover = true;
    int64_t max_age_s = 60;
    std::shared_ptr<const live::StreamKey> stream{};
};

class SegmentFiles final : public std::enable_shared_from_this<SegmentFiles> {
  public:
    using Id = SegmentTimeline::Id;

    // Complete segments that wait for the previous one to be renamed; on a slower disk segments are lost.
    static constexpr size_t kMaxWaiting = 64;

    // The host must live until detach().
    SegmentFiles(SegmentFilesHost& host, std::shared_ptr<SegmentList> list, SegmentFilesOptions options,
                 const net::Resources& resources);
    ~SegmentFiles();
    SegmentFiles(const SegmentFiles&) = delete;

    // The list has what an earlier run has left, which is served from now on. unneeded: see remove(); the playlist
    // still names them.
    void take_over(std::vector<std::string> unneeded);
    // Yields. Checks whether the files named by the playlist still exist: the newest ones, and with each call some
    // of the others. What does not is a gap of it.
    void verify();

    // For each segment: open, any number of writes, then finish or abandon.
    void open();
    base::Result<void> write(std::span<const uint8_t> bytes);
    // The list has it. False: it is lost.
    bool finish(Id id);
    void abandon();
    // The playlist changed without a new segment.
    void rewrite();
    // Files that nobody needs any more.
    void remove(std::vector<std::string> paths);
    // Removes everything. The last call.
    void dispose();
    // Another process has the files from now on: nothing is written or removed any more. Once idle(); the last call.
    void leave();
    // No operation is in progress.
    bool idle() const { return !busy_ && waiting_.empty(); }
    void detach() { host_ = nullptr; }

  private:
    class Operations;
    struct Waiting {
        Id id;
        std::unique_ptr<runtime::disk::AppendFile> file;
    };

    void advance();
    void run();
    void end_run();
    void write_segment(Waiting next);
    void write_shared(const Entry& entry, Operations& operations);
    void give_up(Id id, const std::string& growing, const std::string& path);
    bool write_playlist();
    void set_lost(Id id);
    enum class Which : uint8_t { kSome, kAll };
    void drop_missing(Which which);
    void fail(const std::string& path, const base::Error& error);
    void put(const std::string& path, const std::string& root, int64_t max_age_s);
    void remove_unneeded();
    void remove_files(const std::vector<std::string>& paths);
    std::string path_of(const std::string& path) const { return options_.root + "/" + path; }

    SegmentFilesHost* host_;
    const std::shared_ptr<SegmentList> list_;
    SegmentFilesOptions options_;
    net::Resources resources_;
    std::unique_ptr<runtime::disk::AppendFile> file_;
    const std::string owner_;    // owner recorded for its files
    const uint64_t first_file_;  // number of its first file; files of earlier runs have lower numbers
    uint64_t files_ = 0;
    size_t buffer_bytes_ = 0;  // final size of the last buffer; the next segment is of the same stream
    bool busy_ = false;        // a coroutine writes, or verifies
    bool rewrite_ = false;
    bool disposed_ = false;
    bool has_left_ = false;      // the files are another process's
    bool suspicious_ = false;    // after a failure: older files may be missing too
    bool playlist_good_ = true;  // the playlist on disk is up to date
    std::deque<Waiting> waiting_;
    std::vector<std::string> unneeded_;      // to be removed once the playlist on disk does not name them
    std::string key_on_disk_, map_on_disk_;  // the last ones that were written
    Id verified_ = 0;                        // those of a long playlist before that one were verified; 0: all
};

}  // namespace service::hls
