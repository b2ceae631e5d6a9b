#pragma once
// The known name closest to a mistyped one, for "did you mean".

#include <span>
#include <string>
#include <string_view>

namespace config {

struct Nearest {
    std::string_view name;  // empty only when no name is known
    bool close = false;     // close enough to be what was meant
};

// Counts insertions, deletions, changes and swaps of neighbouring characters. The result points into `known`.
Nearest nearest(std::string_view name, std::span<const std::string_view> known);

// "; did you mean 'x'?"; empty where no name is close.
std::string hint(const Nearest& nearest);

}  // namespace config
