#include "server/upgrade/closings.h"

#include <algorithm>
#include <cstddef>

namespace server::upgrade {

namespace {

// Of so many, in one of the rounds of that time.
void add_some(std::vector<std::string>& out, const std::vector<std::string>& from, int64_t left_ms) {
    const auto rounds = static_cast<size_t>(std::max<int64_t>(left_ms / kClosingRoundMs, 1));
    const size_t count = (from.size() + rounds - 1) / rounds;
    out.insert(out.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

std::vector<std::string> closings(const std::vector<std::string>& players, const std::vector<std::string>& publishers,
                                  int64_t late_ms) {
    std::vector<std::string> out;
    add_some(out, players, kClosingMs - late_ms);
    if (late_ms >= kClosingMs || players.empty()) add_some(out, publishers, 2 * kClosingMs - late_ms);
    return out;
}

}  // namespace server::upgrade
