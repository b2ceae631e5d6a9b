#include "server/reload/auto_reload.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/threads/workers.h"

namespace server {

namespace {

using runtime::Deadline;

base::Result<FileMarks> read_marks(const FileMarks& marks) {
    auto now = std::make_shared<FileMarks>();
    TRY(runtime::offload([now, marks] { *now = read_again(marks); }, Deadline::never()));
    return std::move(*now);
}

}  // namespace

bool in_container() { return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0; }

bool AutoReload::wanted() const {
    if (is_given_over_) return false;
    const config::Global& global = reloader_.snapshot()->global;
    return global.inotify_auto_reload || (global.auto_reload_for_docker && container_);
}

void AutoReload::adapt() {
    // A watcher that is no longer wanted ends by itself: it may be the coroutine that has just reloaded.
    if (!wanted() || reloader_.read().empty() || (task_ && !task_.done())) return;
    task_ = runtime::spawn("auto-reload", [this] { run(); });
}

void AutoReload::stop() {
    if (task_) task_.cancel_and_join();
}

void AutoReload::give_over(bool on) {
    is_given_over_ = on;
    if (on) stop();
    adapt();
}

base::Result<void> AutoReload::watch_what_was_read(const std::shared_ptr<runtime::FileWatch>& watch) {
    std::vector<std::string> paths;
    for (const FileMark& mark : reloader_.read()) paths.push_back(mark.path);
    return runtime::offload([watch, paths] { watch->watch(paths); }, Deadline::never());
}

base::Result<bool> AutoReload::changed() {
    FileMarks seen = TRY(read_marks(reloader_.read()));
    if (seen == reloader_.read()) return false;
    const Deadline longest = Deadline::in_ms(kLongestWaitMs);
    while (!longest.passed()) {
        TRY(runtime::sleep_ms(kSettleMs));
        FileMarks again = TRY(read_marks(reloader_.read()));
        if (again == seen) break;
        seen = std::move(again);
    }
    return seen != reloader_.read();
}

void AutoReload::run() {
    auto made = runtime::watch_files();
    if (!made)
        return base::log::error("changes of the configuration file are not watched: {}", made.error().describe());
    const std::shared_ptr<runtime::FileWatch> watch = *std::move(made);
    base::log::trace("the configuration is reloaded when its files change");
    while (wanted()) {
        // The watch is set before the check, so that a change in between is noticed.
        if (!watch_what_was_read(watch)) return;
        auto different = changed();
        if (!different) return;
        if (*different) {
            if (!reloader_.reload("a file changed")) return;
            continue;
        }
        auto event = watch->next(Deadline::in_ms(kLookMs));
        if (!event && event.error().code() != base::Code::kTimeout) {
            if (event.error().code() != base::Code::kCancelled)
                base::log::error("changes of the configuration file are no longer watched: {}",
                                 event.error().describe());
            return;
        }
    }
    base::log::trace("the configuration is no longer reloaded when its files change");
}

}  // namespace server
