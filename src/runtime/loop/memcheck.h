#pragma once
// What valgrind's memcheck must be told of coroutines' stacks. memcheck_on.cpp is that of `./configure --valgrind=on`;
// in the other builds, of memcheck_off.cpp, nothing is told.

#include <cstddef>
#include <cstdint>

namespace runtime::detail {

// A stack between these addresses: a jump to it is no growth of another one. Returns what memcheck_end_stack() is
// given.
unsigned memcheck_begin_stack(uintptr_t low, uintptr_t top);
void memcheck_end_stack(unsigned id);
// That so many bytes there were never written is known.
void memcheck_forgive(const void* address, size_t size);

}  // namespace runtime::detail
