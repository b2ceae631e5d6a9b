#pragma once
// AudioSplitter: the frames of an elementary stream of audio. Most have headers in their frames: AAC with ADTS (ISO/IEC
// 14496-3, 1.A.2.2), MPEG audio of all layers, AC-3 and E-AC-3. G.711, which has none and is mono at 8000 Hz (GB/T
// 28181, annex C), is cut into frames of at most 40 ms. A PES packet has several frames, and frames are cut
// over packets: a packet's time is that of the first frame that begins in it (ISO/IEC 13818-1, 2.4.3.7), the others
// follow by their number of samples. After an error or a loss a frame counts when another one follows it.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/slice.h"
#include "media/codec.h"
#include "media/time.h"

namespace ts {

struct AudioFrame {
    media::Time time{};
    base::Slice payload;  // AAC: without ADTS
    base::Slice config;   // AAC: AudioSpecificConfig; others: empty
};

class AudioSplitter {
  public:
    explicit AudioSplitter(media::Codec codec = media::Codec::kNone) : codec_(codec) {}

    // Appends the frames that are complete. time: of the packet; nothing: frames continue those before, or are dropped
    // where none were.
    void take(const base::Slice& packet, std::optional<media::Time> time, std::vector<AudioFrame>& out);
    // Bytes are missing before the next packet.
    void restart();
    // Positions at which no frame begins, though one should.
    uint64_t unreadable() const { return unreadable_; }
    size_t memory() const { return rest_.capacity(); }

  private:
    void take_samples(const base::Slice& packet, std::vector<AudioFrame>& out);

    static constexpr size_t kMaxRest = 16 * 1024;  // more than a frame of any of these codecs
    bool is_confirmed(std::span<const uint8_t> bytes, size_t frame_size) const;

    media::Codec codec_;
    bool synced_ = false;
    std::vector<uint8_t> rest_;        // start of a frame that continues in the next packet
    std::optional<media::Time> next_;  // of the frame in rest_, or of the next one
    uint64_t unreadable_ = 0;
};

}  // namespace ts
