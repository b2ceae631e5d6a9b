#pragma once
// SendLatency: a histogram of how long a stream's bytes wait in the server, from the publishing of a frame until its
// bytes are handed to the viewers' sockets; Delivery has one per protocol. Sampled: each Audience follows one packet in
// a few dozen; a batch of viewers is one addition. Bytes that a viewer's socket does not accept at once are not
// counted: that time is the viewer's lag.

#include <array>
#include <cstddef>
#include <cstdint>

namespace live {

struct SendLatency {
    static constexpr std::array<int64_t, 13> kBoundsUs = {1'000,     2'000,     5'000,    10'000,  20'000,
                                                          50'000,    100'000,   200'000,  350'000, 500'000,
                                                          1'000'000, 2'000'000, 5'000'000};
    std::array<uint64_t, kBoundsUs.size() + 1> counts{};  // by the first bound that is not exceeded; the last: longer
    uint64_t total = 0;
    uint64_t sum_us = 0;

    void add(int64_t us, uint64_t times) {
        size_t bucket = 0;
        while (bucket < kBoundsUs.size() && us > kBoundsUs[bucket]) ++bucket;
        counts[bucket] += times;
        total += times;
        sum_us += static_cast<uint64_t>(us > 0 ? us : 0) * times;
    }
};

}  // namespace live
