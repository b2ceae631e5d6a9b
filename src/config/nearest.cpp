#include "config/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace config {
namespace {

constexpr size_t kLongest = 80;  // maximum length compared: the cost grows with it

size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            size_t change = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            current[j] = std::min({change, previous[j] + 1, current[j - 1] + 1});
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
        }
        std::swap(before, previous);
        std::swap(previous, current);
    }
    return previous[b.size()];
}

}  // namespace

Nearest nearest(std::string_view name, std::span<const std::string_view> known) {
    Nearest best;
    size_t least = SIZE_MAX;
    name = name.substr(0, kLongest);
    for (std::string_view candidate : known) {
        size_t d = distance(name, candidate);
        if (d >= least) continue;
        best.name = candidate;
        least = d;
    }
    best.close = least <= std::max<size_t>(1, name.size() / 3);
    return best;
}

std::string hint(const Nearest& nearest) {
    if (nearest.name.empty()) return "";
    return nearest.close ? fmt::format("; did you mean '{}'?", nearest.name)
                         : fmt::format("; the nearest known name is '{}'", nearest.name);
}

}  // namespace config
