#pragma once
// Dash: the DASH of a stream: a rendition for each of its tracks, of the segments of the stream's timeline, and the
// manifest (protocol/mpd) that lists them. What makes the bytes is the stream's SegmentWriter: where HLS has the same
// ones they are kept once.
//
// All times are of the epoch: availabilityStartTime is 1970, and a Period begins with each discontinuity, at the wall
// clock that the timeline gave to its first segment. So nothing changes with a restart. Files of an earlier run are
// deleted: each track has a playlist (m3u8) beside its segments, by which they are found.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/resources.h"
#include "protocol/mpd/mpd.h"
#include "service/hls/output_options.h"
#include "service/hls/playlists/master_file.h"
#include "service/hls/rendition.h"

namespace service::hls {

// Calls from within a call of Dash too.
class DashHost {
  public:
    // A segment can be fetched.
    virtual void dash_changed() = 0;
    virtual void dash_failed(const std::string& path, const base::Error& error) = 0;

  protected:
    ~DashHost() = default;
};

class Dash final : private RenditionHost {
  public:
    // Of a stream, below dash_path. kRefused: its names are no paths, or those of another stream's tracks.
    static base::Result<std::string> manifest_path_of(const OutputOptions& options);
    // Yields. Removes the files of an earlier run. Returns the number behind their last segment; nothing: the coroutine
    // was cancelled.
    static std::optional<uint64_t> remove_left(const OutputOptions& options);
    // All references must outlive it. options: which have such a path.
    Dash(DashHost& host, const OutputOptions& options, net::Resources& resources,
         std::shared_ptr<SegmentTimeline> timeline, SegmentWriter& writer);
    ~Dash();
    Dash(const Dash&) = delete;

    // Paths below dash_path: of the manifest, and of the directory of the segments, with a slash at its end.
    const std::string& manifest_path() const { return manifest_path_; }
    const std::string& directory() const { return directory_; }
    const DashConfig& config() const { return options_.dash; }
    // There is a segment.
    bool has_manifest() const { return !manifest().url_ends.empty(); }
    const mpd::Text& manifest() const;
    // What the manifest says, with URLs relative to the manifest with that path.
    mpd::Manifest describe(const std::string& from) const;
    // It becomes another number where the manifest does.
    uint64_t changes() const { return changes_; }
    // The length of what it lists.
    int64_t window_ms() const;
    // How long a cache may keep it, s.
    int64_t max_age_s() const { return std::max<int64_t>(1, update_ms() / 2'000); }
    // Before the first segment: what an earlier run has left is gone, or another process of the server has left it.
    void drop_left();
    void take_over(LeftDash left, const std::vector<std::shared_ptr<runtime::disk::PagedBytes>>& blobs);
    // For another process: the segments from `first` to the one before `end`.
    LeftDash leave(SegmentTimeline::Id first, SegmentTimeline::Id end, LeftBlobs& blobs);
    // A client waits for the next segment, or gets it as it grows.
    bool is_awaited() const;
    void begin_publishing();
    // The timeline has begun another list with the open segment.
    void begin_list();
    // The segment that the timeline and the writer have open, of these tracks.
    void open(const media::TrackSet& tracks, const media::Frame& first);
    // The same, but the stream pauses.
    void open_gap();
    // A part of it has ended; low latency only.
    void end_part();
    void close(SegmentTimeline::Id id, double frame_rate);
    void lose();
    // The writer cannot write that track's frames.
    void leave_out(const media::Frame& frame, const base::Error& why);
    // The publisher does not return: players need not fetch the manifest again.
    void end();
    void tick(int64_t now_ms);
    void dispose();  // after its renditions
    void for_each(const std::function<void(Rendition&)>& visit) const;

  private:
    // One of the video, and one of each audio track.
    static constexpr size_t kTracks = size_t{1} + media::kMaxTracks;
    // Of a track in a Period.
    struct Description {
        mpd::Track track;  // of one Representation, without segments
        SegmentTimeline::Id first = 0;
    };
    struct Row {
        SegmentTimeline::Id id = 0;
        convert::LaneTimes times{};
        std::shared_ptr<Description> description{};
    };
    struct Track {
        std::unique_ptr<Rendition> rendition{};
        convert::Lanes lane = 0;
        bool is_active = false;  // in the open segment
        std::shared_ptr<Description> description{};
        std::deque<Row> rows{};
        std::string announced{};  // the path of the open segment, or of the next one; empty: it is not waited for
    };

    void segment_done(Rendition& rendition, SegmentTimeline::Id id, const std::string& path) override;
    void segment_failed(const std::string& path, const base::Error& error) override { host_.dash_failed(path, error); }
    std::vector<const Rendition*> others(const Rendition&) const override { return {}; }

    Track& make_track(size_t number);
    void open_track(size_t number, const media::Track& track, const media::Frame& first);
    void announce(Track& track, SegmentTimeline::Id id);
    void withdraw(Track& track);
    void changed();
    bool has_parts() const { return options_.hls.has_parts(); }
    bool on_disk() const { return options_.hls.storage != "memory"; }
    int64_t update_ms() const;
    void add_periods(mpd::Manifest& manifest, const std::string& from) const;
    void add_track(mpd::Period& period, media::Time start, const Track& track, SegmentTimeline::Id first,
                   SegmentTimeline::Id end, const std::string& from) const;
    SegmentTimeline::Id first_listed() const;

    DashHost& host_;
    const OutputOptions options_;
    const std::shared_ptr<const live::StreamKey> stream_;
    net::Resources& resources_;
    const std::shared_ptr<SegmentTimeline> timeline_;
    SegmentWriter& writer_;
    std::string manifest_path_, directory_;
    bool has_ended_ = false;
    SegmentTimeline::Id begin_ = 0;  // the first one that may be listed
    std::array<Track, kTracks> tracks_{};
    int64_t changed_ms_ = 0;  // wall clock
    uint64_t changes_ = 0;
    mutable std::optional<mpd::Text> text_{};  // nothing: it is to be made
    MasterFile file_;
    bool is_file_old_ = false;
    int64_t written_ms_ = 0;  // monotonic; 0: the file was not written
};

}  // namespace service::hls
