#pragma once
// The end of the replaced process's clients after upgrade_limit: evenly spread, so that they do not come to the other
// process at once. Players first, then publishers, whose players would all come otherwise. Pure.

#include <cstdint>
#include <string>
#include <vector>

namespace server::upgrade {

// Players are closed within this time after the limit, then publishers within the same.
inline constexpr int64_t kClosingMs = 60'000;
inline constexpr int64_t kClosingRoundMs = 1'000;

// The ids of those to be closed in the round that comes so long after the limit, of those that are left.
std::vector<std::string> closings(const std::vector<std::string>& players, const std::vector<std::string>& publishers,
                                  int64_t late_ms);

}  // namespace server::upgrade
