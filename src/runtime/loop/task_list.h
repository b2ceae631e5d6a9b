#pragma once
// TaskList: owns objects that have a coroutine each, until that ends, in the order in which they were added. The
// coroutine's last call has its object taken out of the list.

#include <algorithm>
#include <memory>
#include <vector>

#include "base/result.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"

namespace runtime {

// T: coroutine() is its Task.
template <class T>
class TaskList {
  public:
    // what: see Event.
    explicit TaskList(const char* what) : empty_(what) {}

    T& add(std::unique_ptr<T> object) { return *objects_.emplace_back(std::move(object)); }
    // For the caller to destroy.
    std::unique_ptr<T> take(const T& object) {
        const auto found = std::ranges::find(objects_, &object, [](const auto& one) { return one.get(); });
        CHECK(found != objects_.end());
        std::unique_ptr<T> taken = std::move(*found);
        objects_.erase(found);
        if (objects_.empty()) empty_.pulse();
        return taken;
    }
    // Until all have ended, the deadline passes, or the caller is cancelled.
    void wait_empty(Deadline limit) {
        while (!objects_.empty() && empty_.wait_next(limit)) {
        }
    }
    // Yields until all have ended, even if the caller is cancelled.
    void cancel_and_join() {
        while (!objects_.empty()) Task(objects_.front()->coroutine()).cancel_and_join();
    }

    bool empty() const { return objects_.empty(); }
    size_t size() const { return objects_.size(); }
    const T& operator[](size_t index) const { return *objects_[index]; }
    auto begin() const { return objects_.begin(); }
    auto end() const { return objects_.end(); }

  private:
    std::vector<std::unique_ptr<T>> objects_;
    Event empty_;
};

}  // namespace runtime
