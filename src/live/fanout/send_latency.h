#pragma once
// SendLatency: how long a stream's bytes wait in the server, from where a frame was published to where its bytes were
// handed to the viewers' sockets, as a histogram; Fanout has one per protocol. Sampled: each Audience follows one
// packet in a few dozen; a pass over a thousand viewers is one addition. What a viewer does not take at once is not in
// it: that is its lag.

#include <array>
#include <cstddef>
#include <cstdint>

namespace live {

struct SendLatency {
    static constexpr std::array<int64_t, 13> kBoundsUs = {1'000,     2'000,     5'000,    10'000,  20'000,
                                                          50'000,    100'000,   200'000,  350'000, 500'000,
                                                          1'000'000, 2'000'000, 5'000'000};
    std::array<uint64_t, kBoundsUs.size() + 1> counts{};  // by the first bound that is not passed; the last: longer
    uint64_t total = 0;
    uint64_t sum_us = 0;

    void add(int64_t us, uint64_t times) {
        size_t place = 0;
        while (place < kBoundsUs.size() && us > kBoundsUs[place]) ++place;
        counts[place] += times;
        total += times;
        sum_us += static_cast<uint64_t>(us > 0 ? us : 0) * times;
    }
};

}  // namespace live
