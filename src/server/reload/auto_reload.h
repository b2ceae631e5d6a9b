#pragma once
// AutoReload: reloads when a configuration file, or a file that it includes, differs from the version that was read
// (inotify_auto_reload, auto_reload_for_docker). Changes are debounced: files are read once they have been unchanged
// for a while, so that an editor that writes twice, or slowly, causes one reload. Files are checked by a worker thread.

#include <memory>

#include "runtime/disk/file_watch.h"
#include "runtime/loop/coroutine.h"
#include "server/reload/reload.h"

namespace server {

class AutoReload {
  public:
    static constexpr int64_t kSettleMs = 200;         // how long the files must be unchanged
    static constexpr int64_t kLongestWaitMs = 5'000;  // a file that keeps changing is read after this
    static constexpr int64_t kLookMs = 5'000;         // also checked without an event: not every file system reports
                                                      // changes

    // reloader must outlive it. container: whether the server runs in a container.
    AutoReload(Reloader& reloader, bool container) : reloader_(reloader), container_(container) {}
    ~AutoReload() { stop(); }
    AutoReload(const AutoReload&) = delete;

    // Starts or stops watching according to the configuration in force; call it again after each reload.
    void adapt();
    void stop();
    // Another process of the server serves, and watches the files: nothing is reloaded; or this one does again. Yields.
    void give_over(bool on);

  private:
    bool wanted() const;
    void run();
    base::Result<void> watch_what_was_read(const std::shared_ptr<runtime::FileWatch>& watch);
    // Waits until the files are unchanged, and returns whether they differ from those that were read.
    base::Result<bool> changed();

    Reloader& reloader_;
    const bool container_;
    bool is_given_over_ = false;
    runtime::Task task_;
};

// Whether this process runs in a container, judging by files that container engines create.
bool in_container();

}  // namespace server
