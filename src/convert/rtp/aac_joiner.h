#pragma once
// AacJoiner: several AAC frames in one RTP packet (RFC 3640, 3.2.3.1, AAC-hbr), where players get what is new at
// intervals: then a packet per frame only costs them and the server datagrams. A frame waits for the following ones for
// a bounded time. Frames that do not follow each other without a gap are not joined, because only the first one's time
// is in the packet. Pure: times are those of the frames.

#include <optional>
#include <span>
#include <vector>

#include "media/frame.h"

namespace convert {

// The payload of one packet.
struct JoinedAac {
    media::Frame first;  // its time is the packet's
    std::vector<uint8_t> payload;
};

class AacJoiner {
  public:
    // config: AudioSpecificConfig; nothing: it is malformed. max_payload: bytes of a packet.
    static std::optional<AacJoiner> make(std::span<const uint8_t> config, size_t max_payload);

    // Whether the frame can be in a packet beside others; others are to be sent alone, after flush().
    bool fits(const media::Frame& frame) const {
        return !frame.payload.empty() && bytes_of(1) + frame.payload.size() <= max_payload_;
    }
    // A frame that fits. Appends the packet of those before, if it does not follow or has no room there, and the packet
    // with it, if the first one has waited for `wait`.
    void push(const media::Frame& frame, media::Time wait, std::vector<JoinedAac>& out);
    // The packet of the frames that wait, if there are any.
    void flush(std::vector<JoinedAac>& out);

  private:
    AacJoiner(media::Time duration, size_t max_payload) : duration_(duration), max_payload_(max_payload) {}
    // The size of a packet's headers for so many frames.
    static size_t bytes_of(size_t frames) { return 2 + 2 * frames; }
    bool follows(const media::Frame& frame) const;

    media::Time duration_;  // of a frame
    size_t max_payload_;
    std::vector<media::Frame> waiting_;
    size_t waiting_bytes_ = 0;  // of payload
};

}  // namespace convert
