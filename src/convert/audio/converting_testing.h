#pragma once
// For tests: audio is converted by threads, and delivered by a coroutine.

#include "runtime/loop/coroutine.h"
#include "runtime/threads/compute.h"

namespace convert {

// Until no thread has work and all is delivered; what is delivered may bring more work.
inline void settle_converting(int turns) {
    do {
        while (runtime::computing() > 0 && runtime::sleep_ms(1)) continue;
        for (int i = 0; i < turns; ++i) (void)runtime::yield();
    } while (runtime::computing() > 0);
}

}  // namespace convert
