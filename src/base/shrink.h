#pragma once
// libstdc++'s own shrink_to_fit() does nothing where exceptions are off.

#include <iterator>
#include <utility>

namespace base {

// Gives back what a vector or deque has set aside beyond its elements.
template <class Container>
void shrink(Container& container) {
    Container exact(std::make_move_iterator(container.begin()), std::make_move_iterator(container.end()));
    container = std::move(exact);
}

}  // namespace base
