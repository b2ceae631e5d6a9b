#pragma once
// Rendition: the segments of one playlist: their encryption, where they are kept, and what HTTP shows of them. Their
// bytes are those of lanes (segment_writer.h). It does not decide where a segment ends (segmenter.h), nor which number
// it has (segment_timeline.h), nor which tracks it has (renditions.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/http/numbered_resources.h"
#include "protocol/m3u8/cipher.h"
#include "service/hls/config.h"
#include "service/hls/handover/left_blobs.h"
#include "service/hls/segments/recovery.h"
#include "service/hls/segments/segment_list.h"
#include "service/hls/segments/segment_writer.h"
#include "service/hls/serving/reloads.h"
#include "service/hls/serving/view.h"

namespace service::hls {

class Rendition;

// Calls from within a call of the rendition too. It must not destroy the rendition.
class RenditionHost {
  public:
    // The segment is complete, and the playlist names it. path: with its directory; empty: it is in memory only.
    virtual void segment_done(Rendition& rendition, SegmentTimeline::Id id, const std::string& path) = 0;
    // What it was to keep is lost.
    virtual void segment_failed(const std::string& path, const base::Error& error) = 0;
    // The other playlists of the multivariant one, if the rendition is part of it. They have a view.
    virtual std::vector<const Rendition*> others(const Rendition& rendition) const = 0;

  protected:
    ~RenditionHost() = default;
};

class Rendition final : private SegmentWriter::Reader, private SegmentFilesHost, private net::OpenBytes {
  public:
    using Id = SegmentTimeline::Id;

    // Host, index and writer must outlive it. has_view: HTTP has a playlist of it, and of its parts.
    Rendition(RenditionHost& host, const VhostConfig& hls, SegmentPaths paths, const SegmentFilesOptions& options,
              net::Resources& resources, std::shared_ptr<SegmentTimeline> timeline, SegmentWriter& writer,
              bool has_view = true);
    ~Rendition();
    Rendition(const Rendition&) = delete;

    const SegmentPaths& paths() const { return list_->paths(); }
    const SegmentList& list() const { return *list_; }
    // Path of the playlist, with its directory; empty: it is in memory only.
    std::string playlist_path() const;
    // There is a segment.
    bool has_view() const { return shown_ && (listed_ || list_->is_listed(SegmentList::Where::kAnywhere)); }
    // Null: it has none. It is made when somebody asks for it.
    std::shared_ptr<const View> view() const;
    // Requests that wait for another view.
    Reloads& reloads() { return reloads_; }
    // Null: segments are in memory only.
    const std::shared_ptr<SegmentFiles>& files() const { return files_; }

    // Before the first segment: what an earlier run has left of it. The timeline has the main rendition's. blobs: that
    // it refers to.
    void take_over(LeftRendition left, const std::vector<std::shared_ptr<runtime::disk::PagedBytes>>& blobs = {});
    // For another process: its segments among those from `first` to the one before `end`, with what is in memory alone.
    LeftRendition leave(Id first, Id end, LeftBlobs& blobs);
    // What comes from now on is in memory alone, for those who wait; the open segment included.
    void give_over();
    // Once idle(): the files are that process's.
    void leave_files() {
        if (files_) files_->leave();
    }
    // A request waits for a part or a reload.
    bool is_awaited() const { return !reloads_.empty() || parts_.is_awaited(); }
    void begin_publishing() {
        list_->set_ended(false);
        highest_bandwidth_ = 0;
    }
    // Begins the segment that the timeline and the writer have open, of these lanes. An error: of the encryption.
    base::Result<void> open(Lanes lanes);
    // The writer has ended a part of the segment: it can be fetched. The timeline has it after that.
    void end_part();
    // The timeline has it, or another rendition a part more: the playlist says so.
    void show_part();
    // Instead of that: what the open segment has so far. Of no bytes: nothing, or it is lost.
    net::Resource grow();
    // Likewise, but it has no lanes: the stream pauses.
    void open_gap();
    // Ends the segment, whose last part the writer has ended. The timeline has it as `id`.
    void close(Id id);
    // Gives up the open segment, if there is one.
    void lose();

    // Players need not poll again; once nothing is in progress.
    void end_list();
    // Drops what the timeline has forgotten.
    void forget();
    // The timeline has begun another list.
    void begin_list();
    // Something that the playlist says of all segments has changed.
    void list_changed();
    // Requests that wait for what comes next get 404.
    void end_waiting();
    // There is no segment, nor a file that has been one.
    bool empty() const { return list_->begin() == list_->end() && idle(); }
    // After the timeline has forgotten all.
    void dispose();
    bool idle() const { return !files_ || files_->idle(); }
    // Bytes of segments in memory, without the open one, that no rendition before it has.
    size_t memory() const;
    // The oldest segment in memory, the newest one left out unless it is wanted too. Nothing: there is none.
    std::optional<Id> oldest_in_memory(bool newest_too = false) const;
    // It is served from its file, if there is one; its parts are gone.
    void drop_from_memory(Id id);

  private:
    void put(Pieces pieces, const net::PageRange& range, bool is_first) override;
    void put_encrypted(std::span<const uint8_t> bytes);
    void take(Pieces pieces, const net::PageRange& range, bool is_first);
    void end_ranges();
    void drop_open_bytes();
    void show();
    void show_nothing();
    std::shared_ptr<const ListedSegments> list_segments() const;
    m3u8::RenditionReport report_of(const Rendition& other) const;
    void hint(std::optional<uint64_t> part);
    uint64_t bandwidth_of(Id id) const;
    ListedSegments::Bandwidth bandwidth_of(const m3u8::MediaPlaylist& playlist) const;
    void show_shared(const Entry& entry);
    void lose_memory(const base::Error& why) override;
    void serve_from_file(Id id);
    void serve_old_from_files();
    void drop_parts(Id id);
    std::optional<LeftBytes> leave_bytes(const net::ResourcePtr& resource, LeftBlobs& blobs) const;
    net::Resource left_resource(LeftBytes bytes, const std::shared_ptr<runtime::disk::PagedBytes>& blob) const;
    net::Resource resource(std::vector<net::PageRange> ranges = {}) const;
    std::shared_ptr<runtime::disk::PagedBytes> open_pages() override;

    void files_changed() override { show(); }
    void segment_on_disk(Id id, const std::string& path) override;
    void files_failed(const std::string& path, const base::Error& error) override { host_.segment_failed(path, error); }

    RenditionHost& host_;
    net::Resources& resources_;
    const SegmentFilesOptions options_;
    const bool keeps_in_memory_;
    const bool until_on_disk_;  // not longer than that
    // Likewise, unless it is that near to the end. Nothing: as long as it is kept.
    const std::optional<media::Time> in_memory_length_;
    const bool has_parts_;
    const bool has_view_;
    const int fragments_per_key_;
    const bool can_skip_;
    std::shared_ptr<SegmentList> list_;
    std::shared_ptr<SegmentFiles> files_;
    SegmentWriter& writer_;
    std::unique_ptr<m3u8::Cipher> cipher_;  // null: not encrypted
    // Of the open segment.
    std::shared_ptr<const std::string> init_;
    uint64_t bytes_ = 0, own_bytes_ = 0;
    bool in_memory_ = false, on_disk_ = false;  // it is still to be there
    bool is_given_over_ = false;
    std::vector<net::PageRange> ranges_, part_ranges_;  // of the parts that have ended, and of the open one
    uint64_t highest_bandwidth_ = 0;                    // of a segment since the publishing began, bit/s
    net::NumberedResources parts_;
    bool shown_ = false;
    Id first_shown_ = 0;
    // Null: nobody has asked since they changed.
    mutable std::shared_ptr<const ListedSegments> listed_;
    mutable std::shared_ptr<const View> view_;
    Reloads reloads_;
};

}  // namespace service::hls
