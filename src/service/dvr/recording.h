#pragma once
// One recording of one stream while it is published: a sink whose Cutter decides where files begin. It keeps each
// file's timeline (time_jitter), begins a new file if the format cannot continue with a changed track, and retries
// after a disk error. It allocates nothing per frame and never yields.

#include <memory>
#include <string>

#include "live/hub/stream.h"
#include "live/hub/timeline.h"
#include "media/per_track.h"
#include "service/dvr/archive.h"
#include "service/dvr/cutter.h"

namespace service::dvr {

struct RecordingOptions {
    std::string path;  // a pattern that ends in .flv or .mp4
    CutOptions cut;
    config::TimeJitter jitter = config::TimeJitter::kFull;
    size_t keyframes = 2000;
    bool utc = false;      // for the path's calendar variables
    bool pre_roll = true;  // of a running stream: begin with the current GOP
};

class Recording;

class RecordingOwner {
  public:
    // The stream's publishing has ended. May destroy the recording.
    virtual void recording_ended(Recording& recording) = 0;

  protected:
    ~RecordingOwner() = default;
};

class Recording final : private live::FrameSink {
  public:
    // The archive and the owner must outlive it.
    Recording(Archive& archive, RecordingOwner& owner, base::Ref<live::Stream> stream, RecordingOptions options,
              bool requested);
    ~Recording();  // stops
    Recording(const Recording&) = delete;

    void start();
    // Completes the file asynchronously.
    void stop();
    // Writes buffered data to the file. now_ms: monotonic.
    void flush(int64_t now_ms);
    // The growing file no longer exists: it was removed, or its directory was.
    void file_vanished(const std::string& growing);
    // Applies to the next files.
    void set_options(RecordingOptions options);

    const live::StreamKey& key() const { return stream_->key(); }
    bool requested() const { return requested_; }  // by start_recording, not by the configuration
    const OpenFile* file() const { return file_.get(); }

  private:
    void on_tracks(const base::Ref<media::TrackSet>& tracks) override;
    void on_frame(const media::Frame& frame) override;
    void on_unpublish() override;
    // Fragments end by the clock, soon. Data waiting to be written is counted by the disk.
    size_t memory() const override { return file_ ? file_->container->memory() : 0; }
    void record(const media::Frame& frame);
    void record_from_gop(const media::Frame& frame);
    base::Result<bool> offer(const media::Frame& frame, media::Time time);
    base::Result<void> put(const media::Frame& frame, media::Time time);
    base::Result<void> begin_file(media::Time time);
    media::Time time_of(const media::Frame& frame);
    media::Time in_file(media::Time time) const;
    void restart_timeline();
    void end_file(bool whole);
    void fail(const base::Error& error);
    void refuse(const media::Frame& frame);
    void on_success();

    Archive& archive_;
    RecordingOwner& owner_;
    base::Ref<live::Stream> stream_;
    RecordingOptions options_;
    bool requested_;
    std::string publisher_;  // its session
    bool running_ = false;
    bool joining_ = false;  // in subscribe(): frames are from the past
    Cutter cutter_;
    live::Timeline timeline_;
    struct Track {
        uint32_t revision = 0;  // media::Track::revision
        bool begun = false;     // in the open file, with this header
        bool refused = false;   // the format does not support it
        bool reported = false;
    };
    Track& track_of(const media::Frame& frame);
    base::Ref<media::TrackSet> stream_tracks_;
    media::PerTrack<Track> tracks_;
    std::unique_ptr<OpenFile> file_;
    uint64_t sequence_ = 0;
    media::Time base_{};       // the time at which the file began
    media::Time last_{};       // in the file
    int64_t retry_at_ms_ = 0;  // monotonic; 0: no error
    uint64_t failures_ = 0;    // in a row
};

}  // namespace service::dvr
