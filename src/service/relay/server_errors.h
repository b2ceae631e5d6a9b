#pragma once
// ServerErrors: why servers that are asked one after another do not send a stream now, or do not take it. An error is
// logged when it is another one than that server's last, not at each attempt.

#include <map>
#include <string>
#include <string_view>

#include "runtime/loop/current_error.h"

namespace service::relay {

class ServerErrors {
  public:
    // True: to be logged.
    bool update(const std::string& server, std::string_view text) {
        last_ = text;
        if (errors_.size() >= kMaxServers && !errors_.contains(server)) errors_.clear();
        return errors_[server].update(text);
    }
    // It works. True: it did not before.
    bool clear() {
        last_.clear();
        const bool had_any = !errors_.empty();
        errors_.clear();
        return had_any;
    }
    const std::string& last() const { return last_; }  // empty: it works, or was not tried yet

  private:
    static constexpr size_t kMaxServers = 16;  // servers of a cluster come and go

    std::map<std::string, runtime::CurrentError> errors_;
    std::string last_;
};

}  // namespace service::relay
