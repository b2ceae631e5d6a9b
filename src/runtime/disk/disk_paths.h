#pragma once
// Internal to the disk. Operations on one path run one after the other, in the order in which they were requested: a
// PathOperation queues up at its paths (one or two) and runs when it is the first in each queue.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace runtime::disk {

struct PathOperation {
    std::vector<std::string> paths;
    std::move_only_function<void()> go;
    size_t waits_at = 0;
};

class PathOrder {
  public:
    // Calls operation->go, now or later. The operation holds its paths until leave().
    void enter(std::shared_ptr<PathOperation> operation);
    void leave(const std::shared_ptr<PathOperation>& operation);
    size_t size() const { return queues_.size(); }

  private:
    std::map<std::string, std::deque<std::shared_ptr<PathOperation>>> queues_;
};

}  // namespace runtime::disk
