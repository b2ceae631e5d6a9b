#pragma once
// AutoReload: reloads when a configuration file, or one that it includes, is another than the one that was read
// (inotify_auto_reload, auto_reload_for_docker). A change is waited out: files are read once they have been the same
// for a while, so that an editor that writes twice, or slowly, is read once. Every look at the disk is a worker's.

#include <memory>

#include "runtime/disk/file_watch.h"
#include "runtime/loop/coroutine.h"
#include "server/reload.h"

namespace server {

class AutoReload {
  public:
    static constexpr int64_t kSettleMs = 200;         // the files are the same for so long
    static constexpr int64_t kLongestWaitMs = 5'000;  // a file that never rests is read then
    static constexpr int64_t kLookMs = 5'000;         // without an event too: not every file system tells

    // reloader outlives it. container: whether the server runs in one.
    AutoReload(Reloader& reloader, bool container) : reloader_(reloader), container_(container) {}
    ~AutoReload() { stop(); }
    AutoReload(const AutoReload&) = delete;

    // By the configuration in force; call it again after each reload.
    void adapt();
    void stop();

  private:
    bool wanted() const;
    void run();
    base::Result<void> watch_what_was_read(const std::shared_ptr<runtime::FileWatch>& watch);
    // Whether the files are others than those that were read, once they rest.
    base::Result<bool> changed();

    Reloader& reloader_;
    const bool container_;
    runtime::Task task_;
};

// Whether this process runs in a container, as far as files tell that container engines put there.
bool in_container();

}  // namespace server
