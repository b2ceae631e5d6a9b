#include "server/reload.h"

#include "base/log.h"
#include "config/diff.h"

namespace server {

config::SnapshotPtr reload_config(const ConfigSource& source, const config::Snapshot& current) {
    config::Loaded loaded = source.load();
    for (const config::Problem& problem : loaded.problems.all()) {
        bool is_error = problem.severity == config::Severity::kError;
        is_error ? base::log::error("reload: {}", problem.describe())
                 : base::log::warn("reload: {}", problem.describe());
    }
    if (!loaded.snapshot) {
        base::log::error("reload: {} has {} errors; nothing was changed", source.name(), loaded.problems.errors());
        return nullptr;
    }
    config::Reload reload = config::plan_reload(current, *loaded.snapshot);
    size_t live = 0;
    for (const config::Change& change : reload.changes) {
        if (change.live()) {
            base::log::trace("reload: {}", change.describe());
            ++live;
        } else {
            base::log::warn("reload: {} needs a restart; the old value stays", change.describe());
        }
    }
    base::log::trace("reload: {}: {} changes, {} of them in force", source.name(), reload.changes.size(), live);
    return live > 0 ? reload.snapshot : nullptr;
}

}  // namespace server
