#pragma once
// Output: the HLS of one stream, from the frames to the playlist. It outlives the stream: a publisher that returns
// continues it, until it is disposed of.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "convert/segments/default_audio.h"
#include "convert/segments/segmenter.h"
#include "convert/segments/variant_clock.h"
#include "live/hub/events.h"
#include "live/hub/stream.h"
#include "media/aac_clock.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/log_limit.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/timers.h"
#include "service/hls/config.h"
#include "service/hls/dash/dash.h"
#include "service/hls/output_options.h"
#include "service/hls/playlists/master.h"
#include "service/hls/playlists/master_file.h"
#include "service/hls/renditions.h"
#include "service/hls/segments/segment_writer.h"
#include "service/hls/serving/clip.h"

namespace service::hls {

using convert::Arrival;
using convert::Closing;
using convert::Opening;
using convert::PartEnd;
using convert::SegmentSink;
using convert::VariantClock;

class VariantGroup;

class Output final : public live::FrameSink, private SegmentSink, private RenditionHost, private DashHost {
  public:
    // Requests the end of the publishing session (hls_on_error disconnect); not from within the call.
    using Disconnect = std::function<void(const live::StreamKey&, const std::string& why)>;

    // The references must outlive it. It waits for begin().
    Output(OutputOptions options, SegmentPaths names, net::Resources& resources, const live::Events& events,
           runtime::LogLimit& failure_log, Disconnect disconnect);
    ~Output();
    Output(const Output&) = delete;

    // What an earlier run has left was read, or another process of the server has left it; of a stream in memory there
    // may be nothing. Until then frames are kept, as far as memory allows.
    void begin(LeftStream left = {});
    // Consumes the stream until it is no longer published. group: that it is a variant of; null: of none.
    void follow(live::Stream& stream, std::shared_ptr<VariantGroup> group);
    // For the output of an earlier run: it has no publisher, as if the publishing had just ended.
    void nobody_publishes() { unpublished_ms_ = runtime::now_ms(); }
    bool publishing() const { return stream_ != nullptr; }
    int64_t unpublished_ms() const { return unpublished_ms_; }  // monotonic, while it is not published
    // It is published, and has begun a segment with the group's numbers.
    bool has_joined() const { return stream_ && !joins_; }
    // And players get a playlist of it.
    bool is_current() const { return has_joined() && has_view(); }

    const OutputOptions& options() const { return options_; }
    const live::StreamKey& key() const { return options_.key; }
    const VhostConfig& hls() const { return options_.hls; }
    // Of the main rendition.
    const SegmentPaths& paths() const { return paths_; }
    // Null: the stream has none.
    Dash* dash() const { return dash_.get(); }
    // A playlist that is there, or the manifest.
    bool serves(std::string_view path) const {
        return dash_ && path == dash_->manifest_path() ? dash_->has_manifest() : has_view();
    }
    int64_t target_s() const { return timeline_->target_s(); }
    // There is a segment of the main rendition.
    bool has_view() const { return renditions_.main() && renditions_.main()->has_view(); }
    // Its playlist. Null: there is none.
    std::shared_ptr<const View> view() const { return renditions_.main() ? renditions_.main()->view() : nullptr; }
    // The one with that playlist. Null: there is none. To be found again after a yield.
    Rendition* rendition(std::string_view playlist) const { return renditions_.find(playlist); }
    // Whether there are several audio tracks, which players find in a multivariant playlist.
    bool has_audio_group() const { return has_view() && !renditions_.playable().empty(); }
    // The variant of a multivariant playlist that it is, with paths below hls_path for URIs; there is a view.
    m3u8::Variant variant() const;
    // Whether all its segments begin with keyframes.
    bool independent() const { return timeline_->independent(); }
    // kRefused: of its segments there are none; kNotFound: there is none of that time.
    base::Result<ClipPaths> clip(const http::TimeRange& range) const;
    bool on_disk() const { return options_.on_disk(); }
    // Of all renditions.
    std::vector<std::shared_ptr<SegmentFiles>> files() const;
    uint64_t next_sequence() const { return timeline_->sequence(timeline_->end()); }

    // A client requested the playlist and is expected to request it again before that time.
    void expect_players(int64_t until_ms) {
        asked_until_ms_ = until_ms;
        if (stream_) stream_->expect_file_players(until_ms);
    }
    int64_t asked_until_ms() const { return asked_until_ms_; }
    // It is published, or a player that was at the beginning of its playlist when it ended may still be playing.
    bool lasts(int64_t now_ms) const;

    // Waits until a segment is complete, the publishing ends, or wake_waiting(). Yields.
    base::Result<void> await_segment(runtime::Deadline deadline) { return changed_.wait_next(deadline); }
    void wake_waiting() { changed_.pulse(); }
    // Requests that wait for what comes next get 404.
    void end_waiting();

    // ---- Another process of the server (output_handover.cpp)

    // It is about to go on with the stream, from a keyframe. on: each one begins a segment; without video the next
    // frame.
    void seek_keyframe(bool on);
    // The open segment begins with the newest of these, or there is nothing to wait for.
    bool is_at_keyframe() const;
    // The other process goes on with the open segment, which it makes anew; where it cannot, the segment ends here.
    void give_over();
    // After that, when no file is being written: what the other process gets. The files are its own from now on.
    LeftStream leave(uint64_t max_bytes);
    // After that: the other process is about to get the stream; or it is not.
    void hold_gop();
    void release_gop();
    // The stream goes on here too, in memory alone, and a client waits for what comes next.
    bool is_awaited() const;
    // What the other process had is not all there yet: the frame with which it goes on, or the parts that players know.
    bool is_behind() const { return continuation_ || timeline_->next_part() < parts_end_; }

    void tick(int64_t now_ms);  // monotonic
    bool must_be_disposed(int64_t now_ms) const;
    void dispose();
    bool idle() const;

    void on_tracks(const base::Ref<media::TrackSet>& tracks) override;
    void on_frame(const media::Frame& frame) override;
    void on_publish() override;
    void on_unpublish() override;
    // Frames waiting for the muxer, and segments in memory. Data waiting to be written is counted by the disk.
    size_t memory() const override;
    // Muxes the waiting frames and drops the oldest segments in memory early.
    void release_memory() override;

  private:
    struct Waiting {
        media::Frame frame;
        Arrival arrival;
        base::Ref<media::TrackSet> tracks{};  // of this frame and those behind it; null: as before
    };
    // Frames are muxed in batches: with hundreds of streams, a stream's muxing data is no longer in the processor's
    // caches when its next frame arrives. A segment ends at a keyframe, which is muxed at once; without video it ends
    // at any frame, so audio-only batches are smaller. Large frames and infrequent frames wait less. Low latency has no
    // batches.
    static constexpr size_t kFramesAtOnce = 48, kAudioFramesAtOnce = 16;
    static constexpr size_t kBytesAtOnce = 2 * 1024 * 1024;
    static constexpr int64_t kMaxWaitingMs = 2'000;
    // A stream of a group is placed by the frames of so long.
    static constexpr int64_t kPlacedByMs = 300;
    static constexpr media::Time kMinRate = std::chrono::milliseconds(500);
    static constexpr int64_t kContinuesWithinMs = 1'000;
    // So long the frames are kept with which another process of the server goes on, when it has what this one leaves,
    // which takes so long.
    static constexpr int64_t kHeldMs = 10'000, kSeekMs = 5'000, kLeavesMs = 12'000;

    // Low latency: a pause of the stream has parts, by the clock.
    struct GapTimer final : runtime::Timer {
        explicit GapTimer(Output& to) : output(to) {}
        void on_due() override { output.pass_gaps(); }
        Output& output;
    };

    void open_segment(const Opening& opening) override;
    void open_gap(media::Time start) override;
    void write_frame(const media::Frame& frame) override;
    void end_part(const PartEnd& end) override;
    void close_segment(const Closing& closing) override;
    void segment_done(Rendition& rendition, SegmentTimeline::Id id, const std::string& path) override;
    void segment_failed(const std::string& path, const base::Error& error) override;
    std::vector<const Rendition*> others(const Rendition& rendition) const override;
    // The playlists that a multivariant one names for it.
    std::vector<const Rendition*> listed() const;

    void dash_changed() override { changed_.pulse(); }
    void dash_failed(const std::string& path, const base::Error& error) override {
        failed("dash", path, error.text(), false);
    }

    std::unique_ptr<Rendition> make_rendition(RenditionId id);
    void for_each_rendition(const std::function<void(Rendition&)>& visit) const;
    uint64_t bytes_in_memory() const;  // of segments
    void keep_below(uint64_t bytes);
    void record_size(const Opening& opening);
    bool open_hls(const Opening& opening);
    void add_to_dash(const media::Frame& frame, const base::Result<void>& added);
    void report_missing(const media::TrackSet& tracks);
    void report_left_out(const media::Track& track, const base::Error& why);
    void lose_segment();
    void pass_gaps();
    void await_gap();
    void write_master();
    m3u8::Variant::Captions captions(const View& view) const;
    void failed(std::string_view output, const std::string& path, const std::string& reason, bool for_good);
    void begin_publishing();
    void take_over_timeline(const LeftTimeline& left);
    bool skips(const media::Frame& frame);
    void end_continuation(bool goes_on, std::string_view why);
    void feed_waiting();
    void show_parts();
    void report_to_others() const;
    void share_target();
    void drop_waiting();
    void place_in_group();
    void join_group(media::Time start);

    const OutputOptions options_;
    const SegmentPaths paths_;
    net::Resources& resources_;
    const live::Events& events_;
    runtime::LogLimit& failure_log_;
    Disconnect disconnect_;

    live::Stream* stream_ = nullptr;
    runtime::Event changed_{"a segment of HLS"};
    std::string publisher_;       // the session that publishes it, or published it last
    int64_t unpublished_ms_ = 0;  // monotonic
    int64_t asked_until_ms_ = 0;
    bool off_ = false;  // disabled until the next publishing
    bool has_begun_ = false;
    bool seeks_keyframe_ = false;
    media::Time keyframe_dts_ = media::kNoTime;  // of the newest one, as the segmenter has it
    // To another process, or from one: where it goes on. Nothing: it does not, or has done so.
    std::optional<convert::Continuation> continuation_;
    int64_t continuation_since_ms_ = 0;  // monotonic; of the first frame that was skipped; 0: none was
    bool releases_held_ = false;         // the next frame is that one, and its tracks are known
    uint64_t parts_end_ = 0;             // players know those before it
    bool is_given_over_ = false;
    SegmentTimeline::Id given_end_ = 0;  // behind the last segment that the other process gets as it is
    std::vector<Waiting> waiting_;
    base::Ref<media::TrackSet> changed_tracks_;  // of the next frame; null: they have not changed
    size_t waiting_bytes_ = 0;

    std::shared_ptr<VariantGroup> group_;
    VariantClock::Member variant_;  // empty: it is in no group, or not published
    bool joins_ = false;            // its first segment is to come

    convert::DefaultAudio default_audio_;
    media::PerTrack<uint32_t> left_out_;  // media::Track::revision of a track that was reported as left out
    Segmenter segmenter_;
    GapTimer gap_timer_{*this};
    media::AacClocks aac_clocks_;  // hls_dts_directly off
    const std::shared_ptr<SegmentTimeline> timeline_;
    SegmentWriter writer_;
    Renditions renditions_;
    bool has_hls_ = false;        // the open segment
    bool main_has_audio_ = true;  // that the format carries; before the first segment as in the last run
    MasterFile master_file_;
    std::unique_ptr<Dash> dash_;
    base::Ref<media::TrackSet> tracks_ = base::make_ref<media::TrackSet>();  // as DefaultAudio gives them
    int width_ = 0;                                                          // pixels, 0: not known
    int height_ = 0;
    int video_frames_ = 0;       // of the first track, in the open segment
    bool has_captions_ = false;  // a keyframe of it has had some, since its configuration changed
    double frame_rate_ = 0;  // the highest of a segment since the video's configuration changed, per second; 0: unknown
};

}  // namespace service::hls
