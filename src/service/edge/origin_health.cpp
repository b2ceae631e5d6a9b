#include "service/edge/origin_health.h"

#include <algorithm>
#include <cstddef>

namespace service::edge {

std::vector<std::string> OriginHealth::order(const std::string& vhost, const std::vector<std::string>& origins,
                                             int64_t now_ms) {
    if (origins.empty()) return {};
    size_t& next = next_[vhost];
    const size_t begin = next++ % origins.size();
    std::vector<std::string> ordered(origins.begin() + static_cast<ptrdiff_t>(begin), origins.end());
    ordered.insert(ordered.end(), origins.begin(), origins.begin() + static_cast<ptrdiff_t>(begin));
    std::ranges::stable_partition(ordered, [&](const std::string& origin) { return is_up(origin, now_ms); });
    return ordered;
}

bool OriginHealth::is_up(const std::string& origin, int64_t now_ms) const {
    const auto found = states_.find(origin);
    return found == states_.end() || found->second.down_until_ms <= now_ms;
}

void OriginHealth::record_success(const std::string& origin) {
    State& state = this->state(origin);
    state.backoff.reset();
    state.down_until_ms = 0;
    state.problem.clear();
}

void OriginHealth::record_failure(const std::string& origin, std::string_view problem, int64_t now_ms) {
    State& state = this->state(origin);
    ++state.failures;
    state.down_until_ms = now_ms + state.backoff.next_ms();
    state.problem = problem;
}

OriginHealth::State& OriginHealth::state(const std::string& origin) {
    if (!states_.contains(origin) && states_.size() >= configured_.size() + kMaxOthers)
        keep(std::set<std::string>(configured_));
    return states_[origin];
}

void OriginHealth::keep(const std::set<std::string>& origins) {
    configured_ = origins;
    std::erase_if(states_, [&](const auto& entry) {
        return !origins.contains(entry.first) && entry.second.pulls == 0 && entry.second.pushes == 0;
    });
}

}  // namespace service::edge
