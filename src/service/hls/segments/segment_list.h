#pragma once
// SegmentList: the segments of a stream's timeline as one rendition has them: their paths, keys and initialisation
// segments, and whether they are in memory, on disk or lost. A lost one is a gap of the playlist (EXT-X-GAP): numbers
// and times are those of all renditions. A rendition whose track comes later begins later.
//
// It is shared by the rendition and by what writes its files, which may take longer than the rendition lasts. Pure,
// except for the time zone of paths.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/segments/segment_timeline.h"
#include "protocol/m3u8/cipher.h"
#include "protocol/m3u8/playlist.h"
#include "service/hls/playlists/segment_paths.h"

namespace service::hls {

using convert::LeftTimeline;
using convert::Part;
using convert::Segment;
using convert::SegmentTimeline;
using convert::SegmentTimelineOptions;

// What a segment was made with.
struct SegmentContent {
    uint64_t bytes = 0;
    std::shared_ptr<const m3u8::SegmentKey> key{};  // null: not encrypted
    std::string iv{};
    std::shared_ptr<const std::string> init{};  // fMP4's initialisation segment
};

// A segment with its files, as paths below their directory.
struct Entry {
    enum class Disk : uint8_t { kNone, kPending, kThere, kLost };  // kNone: it is not to be on disk

    SegmentContent content{};
    std::string path{};
    std::string key_path{};  // may be shared with other segments; empty: none
    std::string map_path{};  // likewise
    m3u8::Key key{};
    // The size of each part that the timeline has of it, in bytes; 0: there is nothing to fetch, it is a gap.
    std::vector<uint64_t> parts{};
    bool in_memory = false;
    uint64_t memory_bytes = 0;  // that are kept for it and not for another rendition before it
    Disk disk = Disk::kNone;

    bool is_there() const { return in_memory || disk == Disk::kThere; }
    bool is_lost() const { return !is_there() && disk != Disk::kPending; }
};

class SegmentList {
  public:
    using Id = SegmentTimeline::Id;
    enum class Where : uint8_t { kAnywhere, kOnDisk };

    SegmentList(SegmentPaths paths, std::shared_ptr<SegmentTimeline> timeline)
        : paths_(std::move(paths)), timeline_(std::move(timeline)) {}

    // The segment that the timeline has open, with its initialisation segment. Its entry has no path before it is
    // added.
    Entry& open(std::shared_ptr<const std::string> init);
    Entry* open_segment() { return open_ ? &*open_ : nullptr; }
    const Entry* open_segment() const { return open_ ? &*open_ : nullptr; }
    // It is lost. Returns the path of its initialisation segment if no other segment uses that.
    std::string abandon();
    // The newest segment of the timeline, which was open. Those since the last one that was added are lost here.
    Entry& add(Id id, Entry entry);
    // Before the first segment: those that an earlier run has left; the timeline may have more behind them.
    void recover(Id first, std::deque<Entry> entries);
    // The segments before that one are of another playlist: they leave.
    void restart_at(Id id) {
        first_ = std::max(first_, id);
        begun_at_ = 0;
    }

    // A playlist begins there, or later.
    void list_from(Id id) { first_ = std::max(first_, id); }
    Id listed_from() const { return first_; }

    Entry* find(Id id) { return id >= begin_ && id < end() ? &entries_[id - begin_] : nullptr; }
    const Entry* find(Id id) const { return const_cast<SegmentList*>(this)->find(id); }
    Id begin() const { return begin_; }  // the oldest that is kept; of none if it is end()
    Id end() const { return begin_ + entries_.size(); }
    // The playlist's first one, and the one behind its last, before the first whose fate is not known. A playlist does
    // not begin with what is lost, but with gaps where the stream paused, or the track has no data any more.
    Id first_listed(Where where) const;
    Id end_listed(Where where) const;
    bool is_listed(Where where) const { return first_listed(where) < end_listed(where); }
    uint64_t bytes_in_memory() const;

    // The publisher, or the track, will not go on with it.
    void set_ended(bool ended) { ended_ = ended; }
    bool ended() const { return ended_; }
    // On disk it has no parts: who serves files cannot let a client wait.
    m3u8::MediaPlaylist playlist(Where where) const;
    // The playlist has all segments before the open one, and has not ended.
    bool goes_on() const { return !ended_ && end() == timeline_->end() && end_listed(Where::kAnywhere) == end(); }
    // What follows the playlist: the parts of the open segment, and the next part. Nothing unless it goes on. Without
    // reports.
    m3u8::PlaylistTail tail() const;

    // Forgets the segments that the timeline has forgotten. Returns the paths of their files, and of the keys and maps
    // that no other segment uses.
    std::vector<std::string> forget();

    const SegmentPaths& paths() const { return paths_; }
    const SegmentTimeline& timeline() const { return *timeline_; }

  private:
    static bool is_lost(const Entry& entry, Where where) {
        if (where == Where::kAnywhere) return entry.is_lost();
        return entry.disk != Entry::Disk::kThere && entry.disk != Entry::Disk::kPending;
    }
    bool is_pause(Id id) const {
        const bool has_no_data = begun_at_ > 0 && id > begun_at_ && find(id)->content.bytes == 0;
        return has_no_data || (id >= timeline_->kept() && timeline_->at(id).gap);
    }
    std::vector<m3u8::Part> parts_of(const Segment& segment, const Entry* entry) const;
    void name(Id id, Entry& entry);
    void name_map(const PathValues& values, Entry& entry);
    PathValues values_of(Id id, const Segment& segment) const;
    bool has_path(std::string_view path) const;
    bool uses(std::string Entry::*file, const std::string& path) const;

    const SegmentPaths paths_;
    const std::shared_ptr<SegmentTimeline> timeline_;
    Id begin_ = SegmentTimeline::kFirstId;
    Id first_ = 0;     // the playlist begins there, or later
    Id begun_at_ = 0;  // the first with data that was not lost at once; 0: there is none yet
    bool ended_ = false;
    std::deque<Entry> entries_;
    std::optional<Entry> open_;
    // Of the newest segment.
    std::shared_ptr<const m3u8::SegmentKey> last_key_;
    std::string last_key_path_;
    std::shared_ptr<const std::string> last_init_;
    std::string last_map_path_;
};

}  // namespace service::hls
