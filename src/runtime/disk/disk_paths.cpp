#include "runtime/disk/disk_paths.h"

#include <algorithm>

#include "base/result.h"

namespace runtime::disk {

void PathOrder::enter(std::shared_ptr<Turn> turn) {
    auto& paths = turn->paths;
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    for (const auto& path : paths) {
        auto& queue = queues_[path];
        if (!queue.empty()) ++turn->waits_at;
        queue.push_back(turn);
    }
    if (turn->waits_at == 0) turn->go();
}

void PathOrder::leave(const std::shared_ptr<Turn>& turn) {
    std::vector<std::shared_ptr<Turn>> next;
    for (const auto& path : turn->paths) {
        const auto found = queues_.find(path);
        CHECK(found != queues_.end() && found->second.front() == turn);
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
