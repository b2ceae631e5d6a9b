#pragma once
// Recorder: the interface by which a published stream is recorded on request, in addition to what the configuration
// says. A service offers it (Offers::recorder), the API uses it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/hub/registry.h"

namespace service {

// The options of a requested recording that may differ from the configured ones; absent ones are as configured.
struct RecordingRequest {
    std::optional<std::string> path = std::nullopt;  // a pattern below the root of the vhost's dvr_path
    std::optional<bool> segments = std::nullopt;
    std::optional<int64_t> duration_ms = std::nullopt;  // of a segment
    bool pre_roll = true;                               // begin with the current GOP, otherwise with the next keyframe
};

// A directory that has recordings of a vhost: the root of its dvr_path.
struct RecordingRoot {
    std::string vhost;
    std::string directory;  // as configured; it need not exist
};

class Recorder {
  public:
    // Records until stop_recording() or the end of the stream's publishing. kNotFound: it is not published; kBusy: it
    // is already being recorded by request; kRefused: the stream's name or the path; kConfig: the path. Does not yield.
    virtual base::Result<void> start_recording(const live::StreamKey& key, const RecordingRequest& request = {}) = 0;
    // Its file is complete soon after: see live::RecordingDone. kNotFound: there is no such recording. Does not yield.
    virtual base::Result<void> stop_recording(const live::StreamKey& key) = 0;
    virtual bool is_recording_by_request(const live::StreamKey& key) const = 0;
    // Whether the vhost's dvr says that the stream is recorded, and it is.
    virtual bool is_recording_by_configuration(const live::StreamKey& key) const = 0;
    // Roots of vhosts that record, that have a dvr_path of their own, or of which a recording was requested.
    virtual std::vector<RecordingRoot> recording_roots() const = 0;
    // Paths of the files that are being written or completed; each is the path of its recording and ".tmp".
    virtual std::vector<std::string> growing_files() const = 0;

  protected:
    ~Recorder() = default;
};

}  // namespace service
