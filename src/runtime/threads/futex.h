#pragma once
// Internal. Sleeping on a word of memory that another thread changes (futex(2)).

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace runtime::detail {

// Sleeps while the word has that value; may return sooner.
template <class T>
void futex_wait(std::atomic<T>& word, T while_is) {
    static_assert(sizeof word == sizeof(uint32_t));
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_is, nullptr, nullptr, 0);
}
// Wakes one that sleeps.
template <class T>
void futex_wake(std::atomic<T>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace runtime::detail
