#pragma once
// A file format for recordings: takes tracks and frames and writes bytes to a growing file. It does not handle names,
// plans or the completion of the file.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "media/track_set.h"
#include "runtime/disk/disk.h"

namespace service::dvr {

// The longest time for which bytes of a recording stay in memory, ms: a kill -9 may lose at most 1 s.
inline constexpr int64_t kFlushMs = 760;
// For a format whose pieces are already that old when they are written to the file.
inline constexpr int64_t kPieceFlushMs = 50;

enum class Taken : uint8_t {
    kYes,
    kNewFile,  // this file cannot continue with it, but a new file can begin with it
    kNo,       // the format does not support it: see Container::refusal()
};

class Container {
  public:
    virtual ~Container() = default;

    // Called before the first frame of a track (Frame::kind and Frame::track) in this file, and before the first frame
    // after its sequence header changed. header: the track's current sequence header; for a codec without one, its
    // first frame. time: in the file.
    virtual base::Result<Taken> begin_track(const media::Frame& header, const media::Frame& frame,
                                            media::Time time) = 0;
    // The language and label of a track that begin_track() accepted: after that, and when they changed. A format that
    // cannot say them ignores them.
    virtual void set_names(const media::Track&) {}
    // A new onMetaData was received.
    virtual void set_metadata(const media::Frame& metadata) = 0;
    // Writes an audio, video or data frame; a frame of a refused track is ignored. time: its dts in the file, at
    // least 0. After an error the file accepts no more frames.
    virtual base::Result<void> write(const media::Frame& frame, media::Time time) = 0;
    // Writes buffered data to the file once it is old enough. now_ms: monotonic.
    virtual base::Result<void> flush(int64_t now_ms) = 0;
    // Writes the last bytes and completes the header.
    virtual base::Result<void> end() = 0;

    // Bytes of the frames that it holds.
    virtual size_t memory() const { return 0; }

    virtual uint64_t frames() const = 0;
    virtual int64_t duration_ms() const = 0;
    // The reason of the last kNo.
    virtual const std::string& refusal() const = 0;
};

struct ContainerOptions {
    size_t keyframes = 2000;              // entries in the index of an FLV file
    base::Ref<media::TrackSet> tracks{};  // as they are when the file begins; null: none has come
};

// The file must outlive it.
std::unique_ptr<Container> make_flv(runtime::disk::AppendFile& file, const ContainerOptions& options);
std::unique_ptr<Container> make_mp4(runtime::disk::AppendFile& file, const ContainerOptions& options);

// The writer's name in the file; by it a file left by a crash is recognized as ours.
inline constexpr std::string_view kWriter = "SRS DVR";

}  // namespace service::dvr
