#pragma once
// RedPayloads: redundant payloads (protocol/rtp/red.h) of a lane's audio packets, for the viewers that get them: each
// is made once, when it is first asked for, and kept while viewers may still be sent it. Sender threads may read them
// after that: Senders::retire() keeps them until then.

#include <array>
#include <cstdint>

#include "base/slice.h"
#include "live/rtp/rtp_ring.h"

namespace live {

class RedPayloads {
  public:
    // Older packets that a payload has, so that two lost in a row come with the third; as far as they fit a datagram.
    static constexpr size_t kOlder = 2;
    static constexpr size_t kMaxBytes = 1'150;

    RedPayloads() = default;
    RedPayloads(const RedPayloads&) = delete;
    ~RedPayloads() { clear(); }

    // Of a packet of the ring, with those before it that are there. Until the next call.
    const base::Slice& of(const RtpRing& ring, const RtpPacket& packet, uint8_t payload_type);
    void clear();
    size_t memory() const { return bytes_; }

  private:
    static constexpr size_t kKept = 64;
    struct Made {
        uint64_t sequence = 0;
        uint8_t track = 0, payload_type = 0;
        base::Slice payload{};
    };
    void drop(Made& made);

    std::array<Made, kKept> made_{};
    size_t bytes_ = 0;
};

}  // namespace live
