#pragma once
// Hints to valgrind's memcheck about coroutine stacks. memcheck_on.cpp is compiled with `./configure --valgrind=on`;
// memcheck_off.cpp of the other builds does nothing.

#include <cstddef>
#include <cstdint>

namespace runtime::detail {

// Declares a stack between these addresses, so that a jump to it is not taken for growth of another stack. Returns the
// id for memcheck_end_stack().
unsigned memcheck_begin_stack(uintptr_t low, uintptr_t top);
void memcheck_end_stack(unsigned id);
// Suppresses reports about uninitialised bytes in this range.
void memcheck_forgive(const void* address, size_t size);

}  // namespace runtime::detail
