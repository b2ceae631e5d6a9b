#pragma once
// For tests: audio is converted by threads, and delivered by a coroutine.

#include "runtime/loop/coroutine.h"
#include "runtime/threads/compute.h"

namespace convert {

// Waits until no thread has work and all output is delivered; a delivery may cause more work.
inline void settle_converting(int iterations) {
    do {
        while (runtime::computing() > 0 && runtime::sleep_ms(1)) continue;
        for (int i = 0; i < iterations; ++i) (void)runtime::yield();
    } while (runtime::computing() > 0);
}

}  // namespace convert
