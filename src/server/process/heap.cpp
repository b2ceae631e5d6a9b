#include "server/process/heap.h"

#include <malloc.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <string>

namespace server {
namespace {

constexpr const char* kTunables = "GLIBC_TUNABLES";

// Before 2.35 glibc does not know the request; the sanitizers have an allocator of their own.
#if (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 35)) && !defined(SRS_SANITIZER)
constexpr bool kKnowsTheRequest = true;
#else
constexpr bool kKnowsTheRequest = false;
#endif

std::string kernel_mode() {
    std::string mode;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), mode);
    return mode;
}

}  // namespace

// By default glibc uses mmap for large blocks only until one of them is freed: from then on blocks of that size, up to
// 32 MB, come from the heap. A codec's half megabyte, allocated and freed with each stream, then lies between
// longer-lived blocks, and the heap becomes fragmented (research/soak.py: 2 MB in half an hour). The trim threshold is
// the value that glibc would adapt to: with a smaller one the heap's end would be returned to the kernel and requested
// again with every few viewers.
void keep_heap_dense() {
    constexpr int kOwnPagesBytes = 128 * 1024, kKeptAtEndBytes = 1024 * 1024;
    mallopt(M_MMAP_THRESHOLD, kOwnPagesBytes);
    mallopt(M_TRIM_THRESHOLD, kKeptAtEndBytes);
}

bool wants_large_pages(std::string_view mode, const char* tunables, const char* preload) {
    return mode.contains("[madvise]") && !tunables && !preload;
}

void execute_with_large_pages(const char* const* argv) {
    // A program with capabilities of its file: glibc removes the request, and each execution would make another.
    if (!kKnowsTheRequest || getauxval(AT_SECURE) != 0) return;
    if (!wants_large_pages(kernel_mode(), std::getenv(kTunables), std::getenv("LD_PRELOAD"))) return;
    // By its path: executed as /proc/self/exe the process would be named "exe".
    std::array<char, PATH_MAX> path{};
    if (readlink("/proc/self/exe", path.data(), path.size() - 1) <= 0) return;
    setenv(kTunables, "glibc.malloc.hugetlb=1", 1);
    execv(path.data(), const_cast<char* const*>(argv));
    unsetenv(kTunables);
}

}  // namespace server
