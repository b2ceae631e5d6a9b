#include <valgrind/memcheck.h>

#include "runtime/loop/memcheck.h"

namespace runtime::detail {

unsigned memcheck_begin_stack(uintptr_t low, uintptr_t top) { return VALGRIND_STACK_REGISTER(low, top); }
void memcheck_end_stack(unsigned id) { VALGRIND_STACK_DEREGISTER(id); }
void memcheck_forgive(const void* address, size_t size) { VALGRIND_MAKE_MEM_DEFINED(address, size); }

}  // namespace runtime::detail
