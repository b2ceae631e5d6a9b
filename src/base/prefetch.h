#pragma once
// prefetch(): begins to load memory into the processor's cache, without waiting for it. For loops over many objects
// whose memory was last used some milliseconds ago: what the next ones need is loaded while the current one is served.

#include <cstddef>

namespace base {

inline constexpr size_t kCacheLineBytes = 64;

inline void prefetch(const void* bytes, size_t size) {
    for (size_t at = 0; at < size; at += kCacheLineBytes) __builtin_prefetch(static_cast<const char*>(bytes) + at, 1);
}
template <class T>
void prefetch(const T& object) {
    prefetch(&object, sizeof object);
}

}  // namespace base
