#pragma once
// DiskSegmentStore: segments as files. A segment grows under a temporary name; when it is complete its key and
// initialisation segment are written, it gets its name, then the playlist is written anew and only then told. One
// segment after the other, so that its number is known when it gets its name. Whatever moment the process ends at, the
// playlist on disk names complete files only; the next run reads it and goes on behind it.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/disk/disk.h"
#include "service/hls/segment_store.h"

namespace service::hls {

class DiskSegmentStore final : public SegmentStore, public std::enable_shared_from_this<DiskSegmentStore> {
  public:
    // Complete segments that wait for the one before to be named; a disk that is slower loses some.
    static constexpr size_t kMaxWaiting = 64;

    // It waits for recover() with what it does.
    DiskSegmentStore(SegmentStoreHost& host, Names names, SegmentStoreOptions options, const Index& index);
    ~DiskSegmentStore() override;

    // Yields. Reads what an earlier run left and goes on from it, or deletes it; removes what was not complete.
    void recover();
    // Yields. Whether the files that the playlist names are still there; those that are not leave it.
    void verify();

    void open() override;
    base::Result<void> write(std::span<const uint8_t> bytes) override;
    void seal(SegmentInfo sealed) override;
    void abandon() override;
    void end_list() override;
    void tick(int64_t now_ms) override;
    void dispose() override;
    bool idle() const override { return !busy_ && waiting_.empty() && !recovering_; }

  private:
    struct Waiting {
        SegmentInfo sealed;
        std::unique_ptr<runtime::disk::AppendFile> file;
    };
    struct Found;

    void advance();
    void name_next();
    void write_shared(const SegmentInfo& sealed);
    runtime::disk::Done part_done();
    void named();
    void add_named(const SegmentInfo& sealed);
    void drop_missing();
    void write_playlist(std::function<void(base::Result<void>)> then);
    void step_done();
    void fail(const std::string& path, const base::Error& error);
    void take_over(Found& found);
    void remove_files(const std::vector<std::string>& paths);
    std::string path_of(const std::string& path) const { return options_.root + "/" + path; }

    std::unique_ptr<runtime::disk::AppendFile> file_;
    const std::string owner_;    // of its files
    const uint64_t first_file_;  // its number; those of earlier runs are lower
    uint64_t files_ = 0;
    size_t buffer_bytes_ = 0;  // that the last one came to: the next is of the same stream
    bool recovering_ = true;
    bool busy_ = false;
    bool rewrite_ = false;  // the playlist changed without a new segment
    bool disposed_ = false;
    bool suspicious_ = false;    // something failed: older files may be gone too
    bool playlist_good_ = true;  // the one on disk is the newest
    std::deque<Waiting> waiting_;
    // The one being named.
    Named naming_;
    std::string growing_path_;
    int parts_ = 0;
    std::optional<base::Error> part_error_;
};

}  // namespace service::hls
