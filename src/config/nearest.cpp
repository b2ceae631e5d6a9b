#include "config/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace config {
namespace {

constexpr size_t kMostLetters = 2;  // a name with more wrong letters is another name
constexpr size_t kLongest = 80;     // maximum length compared: the cost grows with it

// Exact if it is less than the bound, which is what most names exceed by their length or their first letters.
size_t distance(std::string_view a, std::string_view b, size_t bound) {
    if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= bound) return bound;
    std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
    size_t least_before = 0;
    for (size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        size_t least = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            size_t change = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            current[j] = std::min({change, previous[j] + 1, current[j - 1] + 1});
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
            least = std::min(least, current[j]);
        }
        // A swap refers to the row before the last.
        if (std::min(least, std::exchange(least_before, least)) >= bound) return bound;
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
        size_t d = distance(name, candidate, least);
        if (d >= least) continue;
        best.name = candidate;
        least = d;
    }
    best.close = least <= kMostLetters && least < name.size();
    return best;
}

std::string hint(const Nearest& nearest) {
    return nearest.close ? fmt::format("; did you mean '{}'?", nearest.name) : "";
}

}  // namespace config
