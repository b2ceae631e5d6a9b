#include "config/load.h"

#include <algorithm>

#include "config/environment.h"
#include "config/snapshot_builder.h"
#include "config/syntax/legacy_syntax.h"

namespace config {

Loaded load(const LoadInput& input) {
    Loaded loaded;
    SnapshotBuilder builder(loaded.problems);
    if (!input.path.empty()) {
        std::vector<Node> nodes = parse_file(input.path, input.read, loaded.problems);
        if (nodes.empty() && loaded.problems.errors() > 0) return loaded;  // no readable file: report only that
        rewrite_legacy_syntax(nodes, loaded.problems);
        builder.add_nodes(nodes);
    } else {
        builder.stay_in_foreground();
    }
    std::vector<EnvironmentEntry> entries = read_environment(input.environment);
    auto is_of_vhost = [](const EnvironmentEntry& entry) { return entry.row && entry.row->in_vhost(); };
    if (!builder.has_vhost() && (input.path.empty() || std::ranges::any_of(entries, is_of_vhost)))
        builder.add_default_vhost();
    builder.add_environment(entries);
    builder.finish();
    if (loaded.problems.errors() > 0) return loaded;
    Snapshot snapshot = builder.take();
    if (snapshot.global.server_id.empty()) snapshot.global.server_id = input.server_id;
    loaded.snapshot = std::make_shared<const Snapshot>(std::move(snapshot));
    return loaded;
}

}  // namespace config
