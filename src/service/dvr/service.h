#pragma once
// DVR: records published streams to FLV and MP4 files, as each vhost's dvr block says and as start_recording() asks.
// Files are called path.tmp while they grow. What a crash or a quick end left is finished by the next start, from a
// journal of open recordings. Everything that touches a disk is runtime/disk's or a worker's.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/events.h"
#include "live/hub/registry.h"
#include "runtime/loop/coroutine.h"
#include "service/dvr/recording.h"

namespace service::dvr {

// What may differ from the vhost's dvr block in a recording that is asked for; what is not there is as configured.
struct RecordingRequest {
    std::optional<std::string> path = std::nullopt;  // a pattern below the root of the vhost's dvr_path
    std::optional<bool> segments = std::nullopt;
    std::optional<int64_t> duration_ms = std::nullopt;
    bool pre_roll = true;  // begin with the current GOP, else with the next keyframe
};

class Service final : private live::StreamWatcher, private RecordingOwner {
  public:
    // All outlive it.
    Service(config::SnapshotPtr snapshot, live::Registry& registry, const live::Events& events);
    ~Service();  // stops

    // Yields: it reads the journal. Streams must be published later only.
    base::Result<void> start();
    void stop_accepting() {}
    bool idle() const { return recordings_.empty() && archive_.ending() == 0; }
    // Completes all files, but does not wait for a slow disk for ever: what is left then is the next start's. Yields.
    void stop();
    // Streams are recorded, or no longer, as `next` has it; files that are open end as they began.
    void reload(const config::SnapshotPtr& next);

    // Of a stream that is published, beside what is configured; until stop_recording() or the end of its publishing.
    // kNotFound: nobody publishes it; kBusy: it is being recorded so already; kRefused: the stream's name or the path;
    // kConfig: the path. Does not yield.
    base::Result<void> start_recording(const live::StreamKey& key, const RecordingRequest& request = {});
    // Its file is complete soon after: see live::RecordingDone. kNotFound: there is no such recording. Does not yield.
    base::Result<void> stop_recording(const live::StreamKey& key);

    bool is_recording_by_request(const live::StreamKey& key) const { return find(key, true) != nullptr; }

    const Counters& counters() const { return const_cast<Archive&>(archive_).counters(); }
    size_t recordings() const { return recordings_.size(); }

  private:
    void stream_published(live::Stream& stream) override;
    void recording_ended(Recording& recording) override;
    bool wanted(const config::Vhost* vhost, const live::StreamKey& key) const;
    RecordingOptions options_of(const config::VhostDvr& dvr) const;
    void record(live::Stream& stream, RecordingOptions options, bool requested);
    Recording* find(const live::StreamKey& key, bool requested) const;
    bool check_name(const live::StreamKey& key, const std::string& pattern);
    bool below_a_root(const std::string& path) const;
    void finish_left(const std::vector<OpenRecording>& left);
    void flush_all();
    void look_after_files();

    config::SnapshotPtr snapshot_;
    live::Registry& registry_;
    Journal journal_;
    Archive archive_;
    std::vector<std::unique_ptr<Recording>> recordings_;
    bool started_ = false;
    runtime::Task flusher_;
    runtime::Task watcher_;
};

}  // namespace service::dvr
