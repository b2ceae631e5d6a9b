#pragma once
// A file format as a recording writes it: tracks and frames in, bytes to a growing file. Does not know names, plans or
// what happens when the file is complete.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "media/frame.h"
#include "runtime/disk/disk.h"

namespace service::dvr {

// How long bytes of a recording stay in memory at most, ms: what a kill -9 may cost is 1 s.
inline constexpr int64_t kFlushMs = 760;
// Of a format whose pieces are that old already when the file gets them.
inline constexpr int64_t kPieceFlushMs = 50;

enum class Taken : uint8_t {
    kYes,
    kNewFile,  // this file cannot go on with it, another can begin with it
    kNo,       // the format has no place for it: see Container::refusal()
};

class Container {
  public:
    virtual ~Container() = default;

    // Before the first frame of a track in this file, and before the first one after its sequence header changed.
    // header: the sequence header in force; of a codec that has none, its first frame. time_ms: in the file.
    virtual base::Result<Taken> begin_track(const media::Frame& header, const media::Frame& frame, int64_t time_ms) = 0;
    // Another onMetaData came.
    virtual void set_metadata(const media::Frame& metadata) = 0;
    // An audio, video or data frame; one of a track that was not taken is passed over. time_ms: its dts in the file,
    // at least 0. An error is the file's: it can take no more.
    virtual base::Result<void> write(const media::Frame& frame, int64_t time_ms) = 0;
    // What was kept waiting for more goes to the file when it is old enough. now_ms: monotonic.
    virtual base::Result<void> flush(int64_t now_ms) = 0;
    // The last bytes, and what stands at the head.
    virtual base::Result<void> end() = 0;

    // Of the frames that it keeps, bytes.
    virtual size_t memory() const { return 0; }

    virtual uint64_t frames() const = 0;
    virtual int64_t duration_ms() const = 0;
    // Of the last kNo.
    virtual const std::string& refusal() const = 0;
};

struct ContainerOptions {
    size_t keyframes = 2000;  // of an FLV file's index
    std::optional<media::Frame> metadata = std::nullopt;
    std::optional<media::Frame> video = std::nullopt;  // the sequence headers in force, where there are any
    std::optional<media::Frame> audio = std::nullopt;
};

// The file must outlive it.
std::unique_ptr<Container> make_flv(runtime::disk::AppendFile& file, const ContainerOptions& options);
std::unique_ptr<Container> make_mp4(runtime::disk::AppendFile& file, const ContainerOptions& options);

// Who writes it: stands in the file, and is how a file that a crash left is known for ours.
inline constexpr std::string_view kWriter = "SRS DVR";

}  // namespace service::dvr
