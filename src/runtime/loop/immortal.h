#pragma once
// Internal. A global that is never destroyed, because exit() may run while coroutines wait and lines are logged.

namespace runtime::detail {

template <class T>
union Immortal {
    T value;
    Immortal() : value() {}
    ~Immortal() {}
};

}  // namespace runtime::detail
