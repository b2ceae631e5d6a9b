#pragma once
// PES: the packets of elementary streams (ISO/IEC 13818-1, 2.4.3.6), which transport streams and program streams have
// in common: which stream a packet is of, its header, its times. The header is parsed; the payload is not
// (frame_reader.h does that).

#include <cstdint>
#include <optional>
#include <span>

#include "base/slice.h"
#include "media/codec.h"
#include "media/language.h"

namespace ts {

// What a program map says of a stream.
struct ElementaryStream {
    uint16_t pid = 0;  // of a program stream: the stream_id
    uint8_t stream_type = 0;
    media::Codec codec = media::Codec::kNone;  // kNone: unknown
    uint8_t opus_channels = 2;
    uint8_t track = 0;  // Frame::track: among the streams of its kind; 0 for unknown codecs
    media::Language language{};

    media::Kind kind() const { return media::codec_info(codec).kind; }
    bool operator==(const ElementaryStream&) const = default;
};

struct PesPacket {
    ElementaryStream stream;
    // Ticks of 90 kHz, unwrapped. dts equals pts when the packet has no DTS.
    std::optional<int64_t> pts;
    std::optional<int64_t> dts;
    bool random_access = false;
    bool damaged = false;       // packets are missing inside or at its end
    bool after_loss = false;    // packets of its stream were missing before it, or the sender says that
    bool may_continue = false;  // video: it is as long as packets with a length can be
    base::Slice payload;        // the elementary stream's bytes
};

struct PesHeader {
    size_t size = 0;  // bytes before the payload
    bool scrambled = false;
    std::optional<uint64_t> pts, dts;  // 33 bits
};

// The bytes of a packet before its length is complete, and the length's largest value.
inline constexpr size_t kPesPrefixSize = 6;
inline constexpr size_t kMaxPesLength = 0xffff;
// Packets with more bytes after the prefix than this may be a part of an access unit: senders that give each packet a
// length cut larger ones.
inline constexpr size_t kLongPesLength = 65'400;

// pes: a packet from its start code on. Nothing when the header is malformed, or not within pes.
std::optional<PesHeader> read_pes_header(std::span<const uint8_t> pes);

// A PTS and a DTS that are further apart than this contradict each other.
inline constexpr int64_t kMaxReordering = 10 * 90'000;

// Continues times of 33 bits beyond their wrap, every 26.5 hours: a time is the one nearest to the last one.
class TimeUnwrapper {
  public:
    int64_t unwrap(uint64_t ticks);

  private:
    std::optional<int64_t> last_;
};

}  // namespace ts
