#pragma once
// DVR: records published streams to FLV and MP4 files, according to each vhost's dvr block and to start_recording().
// Files are named path.tmp while they are written. Files left by a crash or an immediate exit are finished by the next
// start, with a journal of open recordings. All disk access goes through runtime/disk or a worker thread.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/events.h"
#include "live/hub/followed_streams.h"
#include "live/hub/registry.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/log_limit.h"
#include "service/dvr/config.h"
#include "service/dvr/recording.h"
#include "service/recorder.h"

namespace service::dvr {

class Service final : public Recorder, private live::StreamFollower, private RecordingOwner {
  public:
    // All of them must outlive it.
    Service(config::SnapshotPtr snapshot, live::Registry& registry, const live::Events& events);
    ~Service();  // stops: yields

    // Reads the journal: yields. Must be called before streams are published.
    base::Result<void> start();
    void stop_accepting() {}
    // Recordings stay where their publishers are, and the journal with the process that began earlier.
    void give_over(bool on) { awaits_journal_ = on && !started_; }
    bool idle() const { return recordings_.empty() && archive_.ending() == 0; }
    // Completes all files, but does not wait for a slow disk forever: the next start finishes the rest. Yields.
    void stop();
    // Starts and stops recordings as `next` requires; open files are completed with their old options.
    void reload(const config::SnapshotPtr& next);

    base::Result<void> start_recording(const live::StreamKey& key, const RecordingRequest& request = {}) override;
    base::Result<void> stop_recording(const live::StreamKey& key) override;
    bool is_recording_by_request(const live::StreamKey& key) const override { return find(key, true) != nullptr; }
    bool is_recording_by_configuration(const live::StreamKey& key) const override {
        return find(key, false) != nullptr;
    }

    std::vector<RecordingRoot> recording_roots() const override;
    std::vector<std::string> growing_files() const override { return archive_.growing_files(); }

    const Counters& counters() const { return const_cast<Archive&>(archive_).counters(); }
    size_t recordings() const { return recordings_.size(); }

  private:
    bool wants(const live::Stream& stream, const config::Vhost& vhost) const override;
    bool follow(live::Stream& stream, const config::Vhost& vhost) override;
    void keep(live::Stream& stream, const config::Vhost& vhost) override;
    void leave(live::Stream& stream) override;
    void recording_ended(Recording& recording) override;
    RecordingOptions options_of(const VhostConfig& dvr) const;
    void record(live::Stream& stream, RecordingOptions options, bool requested);
    Recording* find(const live::StreamKey& key, bool requested) const;
    bool check_name(const live::StreamKey& key, const std::string& pattern);
    bool below_a_root(const std::string& path) const;
    void finish_left(const std::vector<OpenRecording>& left);
    void flush_all();
    void check_files();

    config::SnapshotPtr snapshot_;
    live::Registry& registry_;
    live::FollowedStreams followed_;
    Journal journal_;
    Archive archive_;
    std::vector<std::unique_ptr<Recording>> recordings_;
    std::set<std::string> requested_vhosts_;  // of configured vhosts: those of requested recordings in this run
    runtime::LogLimit refusal_log_;
    bool started_ = false;
    bool awaits_journal_ = false;
    runtime::Task flusher_;
    runtime::Task watcher_;
};

}  // namespace service::dvr
