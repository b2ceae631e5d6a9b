#pragma once
// DiskSegmentStore: segments as files. A segment is written under a temporary name. When it is complete, its key and
// initialisation segment are written, it is renamed, the playlist is rewritten, and only then is the host notified.
// Segments are processed one at a time, so that the sequence number is known when a segment is renamed. Whenever the
// process ends, the playlist on disk names only complete files; the next run reads it and continues after it.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/disk/disk.h"
#include "service/hls/segments/segment_store.h"

namespace service::hls {

class DiskSegmentStore final : public SegmentStore, public std::enable_shared_from_this<DiskSegmentStore> {
  public:
    // Complete segments that wait for the previous one to be renamed; on a slower disk segments are lost.
    static constexpr size_t kMaxWaiting = 64;

    // It does nothing before recover().
    DiskSegmentStore(SegmentStoreHost& host, SegmentPaths names, SegmentStoreOptions options, const Index& index);
    ~DiskSegmentStore() override;

    // Yields. Reads the files of an earlier run and continues from them, or deletes them; removes incomplete segments.
    void recover();
    // Yields. Checks that the files named by the playlist still exist; those that do not are removed from it.
    void verify();

    void open() override;
    base::Result<void> write(std::span<const uint8_t> bytes) override;
    void finish(SegmentInfo info) override;
    void abandon() override;
    void end_list() override;
    void tick(int64_t now_ms) override;
    void dispose() override;
    bool idle() const override { return !busy_ && waiting_.empty() && !recovering_; }

  private:
    struct Waiting {
        SegmentInfo info;
        std::unique_ptr<runtime::disk::AppendFile> file;
    };
    struct Found;

    void outcome_arrived() override { advance(); }
    void window_changed() override {
        rewrite_ = true;
        advance();
    }
    bool take_outcome();
    void advance();
    void name_next();
    void write_shared(const SegmentInfo& info);
    runtime::disk::Done part_done();
    void named();
    void add_named(const SegmentInfo& info);
    void drop_missing();
    void write_playlist(std::function<void(base::Result<void>)> then);
    void step_done();
    void fail(const std::string& path, const base::Error& error);
    void take_over(Found& found);
    void remove_files(const std::vector<std::string>& paths);
    std::string path_of(const std::string& path) const { return options_.root + "/" + path; }

    std::unique_ptr<runtime::disk::AppendFile> file_;
    const std::string owner_;    // owner recorded for its files
    const uint64_t first_file_;  // number of its first file; files of earlier runs have lower numbers
    uint64_t files_ = 0;
    size_t buffer_bytes_ = 0;  // final size of the last buffer; the next segment is of the same stream
    bool recovering_ = true;
    bool busy_ = false;
    bool rewrite_ = false;  // the playlist changed without a new segment
    bool disposed_ = false;
    bool suspicious_ = false;    // after a failure: older files may be missing too
    bool playlist_good_ = true;  // the playlist on disk is up to date
    std::deque<Waiting> waiting_;
    bool moved_ = false;  // segments have left for the one being renamed
    // The segment being renamed.
    Named naming_;
    std::string growing_path_;
    int parts_ = 0;
    std::optional<base::Error> part_error_;
};

}  // namespace service::hls
