#pragma once
// SourcePackets: the RTP payloads that one frame came in from its publisher, with their markers, for outputs that send
// RTP too and can send the same payloads. They are valid during the publication of their frame only: nothing keeps
// them. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace media {

class SourcePackets {
  public:
    static constexpr size_t kMaxPayload = 0x7fff;

    struct Packet {
        std::span<const uint8_t> payload;
        bool marker = false;
    };

    // The frame was in the packets of an earlier frame, which has them: several AAC frames in a packet.
    static SourcePackets of_earlier_frame() {
        SourcePackets packets;
        packets.with_earlier_ = true;
        return packets;
    }

    // Nothing is known of them: the frame has to be packetized.
    bool unknown() const { return bytes_.empty() && !with_earlier_; }
    bool with_earlier_frame() const { return with_earlier_; }
    size_t bytes() const { return bytes_.size(); }
    size_t memory() const { return bytes_.capacity(); }  // bytes of allocations
    void clear() {
        bytes_.clear();
        with_earlier_ = false;
    }
    void reserve(size_t bytes) { bytes_.reserve(bytes); }
    // payload: at most kMaxPayload bytes.
    void append(std::span<const uint8_t> payload, bool marker) {
        const size_t head = payload.size() | (marker ? kMarker : 0);
        bytes_.push_back(static_cast<uint8_t>(head >> 8));
        bytes_.push_back(static_cast<uint8_t>(head));
        bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    }
    // The packet at `at`, which is 0 for the first, and moves to the next; nothing: there is none.
    std::optional<Packet> next(size_t& at) const {
        if (at + 2 > bytes_.size()) return std::nullopt;
        const size_t head = size_t{bytes_[at]} << 8 | bytes_[at + 1];
        const std::span payload(bytes_.data() + at + 2, head & kMaxPayload);
        at += 2 + payload.size();
        return Packet{payload, (head & kMarker) != 0};
    }

  private:
    static constexpr size_t kMarker = 0x8000;
    std::vector<uint8_t> bytes_;  // of each packet two bytes, marker and size, and the payload
    bool with_earlier_ = false;
};

}  // namespace media
