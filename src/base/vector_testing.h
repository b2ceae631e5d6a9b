#pragma once
// For tests of vectors whose elements are pointers.

#include <vector>

namespace base {

// What the pointers of a list point to, in the list's order.
template <class List>
std::vector<int> pointed_values(const List& list) {
    std::vector<int> seen;
    for (const auto& item : list) seen.push_back(*item);
    return seen;
}

}  // namespace base
