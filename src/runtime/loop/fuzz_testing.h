#pragma once
// For fuzz targets that run coroutines: a loop whose clock stands still between inputs, and the bytes of an input as
// choices. With MemoryPeer (runtime/socket/memory_stream_testing.h) whole connections of a service can be run. All that
// an input starts has to end with it: the number of coroutines tells.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/log.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/immortal.h"
#include "runtime/loop/simulated_time_testing.h"

namespace runtime::testing {

// The input's function is the first coroutine. Nothing is logged.
inline SimulatedTime& fuzz_time() {
    static const bool started = [] {
        CHECK(init());
        base::log::active_level = base::log::Level::kOff;
        return true;
    }();
    CHECK(started);
    static detail::Immortal<SimulatedTime> time;
    return time.value;
}

// Bytes of an input, one choice after the other. Behind the end all choices are 0.
class FuzzInput {
  public:
    FuzzInput(const uint8_t* data, size_t size) : rest_(data, size) {}

    bool empty() const { return rest_.empty(); }
    uint8_t byte() {
        if (rest_.empty()) return 0;
        const uint8_t first = rest_.front();
        rest_ = rest_.subspan(1);
        return first;
    }
    // below: at most 256.
    size_t choice(size_t below) { return byte() % below; }
    // Up to 255 bytes, which a length precedes.
    std::string_view text() {
        const size_t wanted = byte();
        const size_t size = std::min(wanted, rest_.size());
        const std::string_view text(reinterpret_cast<const char*>(rest_.data()), size);
        rest_ = rest_.subspan(size);
        return text;
    }

  private:
    std::span<const uint8_t> rest_;
};

}  // namespace runtime::testing
