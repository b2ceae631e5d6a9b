#pragma once
// How the C library keeps the heap.

#include <string_view>

namespace server {

// Few gaps between blocks, and memory that is returned to the kernel only in larger parts.
void keep_heap_dense();

// The heap in pages of 2 MB: with many streams the processor waits for fewer translations of addresses. glibc reads the
// request before main(), from the environment, so the program executes itself again, as the same process. To be called
// before anything is opened. Returns where large pages are not wanted or not possible.
void execute_with_large_pages(const char* const* argv);

// mode: the kernel's transparent_hugepage/enabled; only with [madvise] it is the program that decides. The environment:
// GLIBC_TUNABLES is the operator's decision, also when empty. With LD_PRELOAD the heap is another allocator's, or the
// process is valgrind's, which would not follow it. Null: not set.
bool wants_large_pages(std::string_view mode, const char* tunables, const char* preload);

}  // namespace server
