#pragma once
// libstdc++'s own shrink_to_fit() does nothing when exceptions are off.

#include <iterator>
#include <utility>

namespace base {

// Frees the unused capacity of a vector or deque.
template <class Container>
void shrink(Container& container) {
    Container exact(std::make_move_iterator(container.begin()), std::make_move_iterator(container.end()));
    container = std::move(exact);
}

}  // namespace base
