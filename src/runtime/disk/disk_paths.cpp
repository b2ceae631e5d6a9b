#include "runtime/disk/disk_paths.h"

#include <algorithm>

#include "base/result.h"

namespace runtime::disk {

void PathOrder::enter(std::shared_ptr<PathOperation> operation) {
    auto& paths = operation->paths;
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    for (const auto& path : paths) {
        auto& queue = queues_[path];
        if (!queue.empty()) ++operation->waits_at;
        queue.push_back(operation);
    }
    if (operation->waits_at == 0) operation->go();
}

void PathOrder::leave(const std::shared_ptr<PathOperation>& operation) {
    std::vector<std::shared_ptr<PathOperation>> next;
    for (const auto& path : operation->paths) {
        const auto found = queues_.find(path);
        CHECK(found != queues_.end() && found->second.front() == operation);
        found->second.pop_front();
        if (found->second.empty()) {
            queues_.erase(found);
        } else if (--found->second.front()->waits_at == 0) {
            next.push_back(found->second.front());
        }
    }
    for (const auto& one : next) one->go();
}

}  // namespace runtime::disk
