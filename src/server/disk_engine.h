#pragma once
// The disk engine of runtime/disk/disk.h as a module: started before the modules that write files; at the end it waits
// until their data has been written.

#include "base/log.h"
#include "config/snapshot.h"
#include "runtime/disk/disk.h"
#include "server/module.h"

namespace server {

class DiskEngine : public WithoutClients {
  public:
    explicit DiskEngine(config::SnapshotPtr snapshot) : snapshot_(std::move(snapshot)) {}

    base::Result<void> start() { return runtime::disk::start(settings(*snapshot_)); }
    void stop() {
        auto drained = runtime::disk::drain(runtime::Deadline::in_ms(kMaxAtEndMs));
        if (!drained) base::log::error("{}", drained.error().describe());
    }
    void reload(const config::SnapshotPtr& next) {
        auto changed = runtime::disk::start(settings(*next));
        CHECK(changed.has_value());
    }

  private:
    static constexpr int64_t kMaxAtEndMs = 10'000;

    static runtime::disk::Settings settings(const config::Snapshot& snapshot) {
        const config::Disk& disk = snapshot.disk;
        runtime::disk::Settings settings;
        settings.buffer_bytes = static_cast<size_t>(disk.buffer);
        settings.flush_ms = disk.flush;
        settings.file_limit_bytes = static_cast<size_t>(disk.file_limit);
        settings.total_limit_bytes = static_cast<size_t>(disk.total_limit);
        return settings;
    }

    config::SnapshotPtr snapshot_;
};

}  // namespace server
