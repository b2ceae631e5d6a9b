#pragma once
// OriginHealth: what is known of the origins of all edges: which of them worked when it was used last. Edges use those
// of a vhost in turn; one that failed is the last to be tried for a while, 3 s at first and 30 s at most.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/loop/backoff.h"

namespace service::edge {

class OriginHealth {
  public:
    // Beside those of the configuration, which keep() has been told: servers of a cluster come and go.
    static constexpr size_t kMaxOthers = 256;
    static constexpr int64_t kFirstDownMs = 3'000, kLongestDownMs = 30'000;

    struct State {
        size_t pulls = 0;          // that have a stream of it now
        size_t pushes = 0;         // that pass a stream up to it now
        uint64_t connections = 0;  // attempts
        uint64_t failures = 0;     // of these; and connections that broke
        runtime::Backoff backoff{kFirstDownMs, kLongestDownMs};
        int64_t down_until_ms = 0;  // by the loop's clock; not used before others until then
        std::string problem{};      // the last failure; empty: it works, or was not used yet
    };

    // The origins of a vhost in the order in which they are to be tried now. Each call begins with another one.
    std::vector<std::string> order(const std::string& vhost, const std::vector<std::string>& origins, int64_t now_ms);
    void record_success(const std::string& origin);
    void record_failure(const std::string& origin, std::string_view problem, int64_t now_ms);
    State& state(const std::string& origin);
    bool is_up(const std::string& origin, int64_t now_ms) const;

    // Forgets all others, unless they are in use.
    void keep(const std::set<std::string>& origins);
    const std::map<std::string, State>& states() const { return states_; }

  private:
    std::set<std::string> configured_;
    std::map<std::string, State> states_;  // by their text in the configuration
    std::map<std::string, size_t> next_;   // by vhost: the index of the next one to begin with
};

}  // namespace service::edge
