#pragma once
// RetransmissionLog: which packets were retransmitted to one viewer, how often and when last. It limits how often each
// packet is retransmitted, and prevents a retransmission while the previous one may still be in flight. A packet that
// the publisher delivered late counts as retransmitted then: a NACK from before is answered by it. Pure.
//
// Why it matters: a duplicate retransmission does harm. aiortc takes a packet 100 behind its read position for a
// restarted stream and shows nothing for 512 packets. And pion keeps requesting, every 100 ms, packets that it already
// got by RTX, so a NACK does not always mean that the packet is missing.

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "media/codec.h"

namespace service::rtc {

// Round-trip times measured from a viewer's receiver reports, of the last few: 0 before the first.
class RoundTrips {
  public:
    void add(int64_t us) {
        last_ms_[count_++ % last_ms_.size()] = static_cast<uint16_t>(std::clamp<int64_t>(us / 1000, 0, kMaxMs));
    }
    bool known() const { return count_ > 0; }
    uint32_t mean_ms() const {
        const auto known = std::min<uint32_t>(count_, last_ms_.size());
        return known == 0 ? 0 : std::accumulate(last_ms_.begin(), last_ms_.end(), 0u) / known;
    }
    uint32_t shortest_ms() const {
        const auto known = std::min<size_t>(count_, last_ms_.size());
        return known == 0 ? 0 : *std::min_element(last_ms_.begin(), last_ms_.begin() + static_cast<ptrdiff_t>(known));
    }

  private:
    static constexpr int64_t kMaxMs = 1000;
    std::array<uint16_t, 4> last_ms_{};
    uint32_t count_ = 0;
};

class RetransmissionLog {
  public:
    struct Packet {
        uint32_t last_ms = 0;
        uint16_t sequence = 0;
        uint8_t tries = 0;

        // Whether it may be sent now. The n-th retransmission waits at least (n - 1) * kAgainMs after the one before,
        // and until a NACK can have come that knows of it. Clients ask at intervals of about the round trip: an eighth
        // less than the shortest one, so that jitter does not delay the answer by another interval. by_rtx: a packet
        // that comes twice does no harm, and on a long way that is cheaper than a second round trip for one that is
        // lost twice.
        bool is_due(uint32_t now_ms, uint32_t shortest_round_trip_ms, bool by_rtx) const {
            uint32_t known_after = shortest_round_trip_ms - shortest_round_trip_ms / 8;
            if (by_rtx) known_after = std::min(known_after, kMostByRtxMs);
            return tries == 0 ||
                   (tries < kMaxTries && now_ms - last_ms >= std::max<uint32_t>(kAgainMs * tries, known_after));
        }
        void sent(uint32_t now_ms) {
            ++tries;
            last_ms = now_ms;
        }
    };
    static constexpr uint8_t kMaxTries = 6;
    static constexpr uint32_t kAgainMs = 40, kMostByRtxMs = 150;

    // Valid until the next call. Null: the slot is used by a later packet, so this one is not retransmitted any more.
    Packet* find(media::Kind kind, uint16_t sequence, uint32_t now_ms) {
        const bool video = kind == media::Kind::kVideo;
        Packet& slot = all_[video ? sequence % kVideo : kVideo + sequence % kOthers];
        const bool known = slot.tries > 0 && now_ms - slot.last_ms < kForgetMs;
        if (known && slot.sequence == sequence) return &slot;
        if (known && static_cast<int16_t>(sequence - slot.sequence) < 0) return nullptr;
        slot = {.sequence = sequence};
        return &slot;
    }

  private:
    static constexpr size_t kVideo = 256, kOthers = 64;
    // Longer than the ring keeps a packet, shorter than the sequence numbers take to wrap.
    static constexpr uint32_t kForgetMs = 20'000;
    std::array<Packet, kVideo + kOthers> all_{};
};

}  // namespace service::rtc
