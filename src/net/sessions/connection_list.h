#pragma once
// ConnectionList: the connections of a service, which owns them until each has ended.

#include <memory>
#include <string_view>
#include <utility>

#include "base/close_reason.h"
#include "base/indexed_list.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"

namespace net {

// Connection: start() is false if it could not begin; close(why, reason) ends it soon, and it is removed then.
template <typename Connection>
class ConnectionList {
  public:
    void start(std::unique_ptr<Connection> connection) {
        empty_.reset();
        Connection& added = list_.add(std::move(connection));
        if (!added.start()) remove(added);
    }
    // Destroys it.
    void remove(Connection& connection) {
        list_.remove(connection);
        if (list_.empty()) empty_.set();
    }
    // Closes all, because the server stops, and waits until they have ended, or until this coroutine is cancelled.
    void close_all() {
        constexpr int64_t kAgainMs = 1000;
        close_each();
        while (!list_.empty()) {
            if (empty_.wait(runtime::Deadline::in_ms(kAgainMs))) continue;
            // A connection changed from viewer to coroutine meanwhile, or this coroutine was cancelled and must not
            // return yet.
            close_each();
            if (runtime::cancelled()) break;
        }
    }

    bool empty() const { return list_.empty(); }
    size_t size() const { return list_.size(); }
    auto begin() { return list_.begin(); }
    auto end() { return list_.end(); }

  private:
    void close_each() {
        for (auto& connection : list_) connection->close("the server stops", base::CloseReason::kServerStop);
    }

    base::IndexedList<Connection> list_;
    runtime::Event empty_{"the last client to go"};  // set when the last connection is removed
};

}  // namespace net
