#pragma once
// For tests: parses transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01,
// 3.1): which packets arrived and when. rtcp/twcc_collector.h writes it; the server reads none.

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "protocol/rtcp/twcc_collector.h"
#include "protocol/rtp/packet.h"

namespace rtcp {

// Run lengths let four bytes describe 8,191 packets: more than this limit in one feedback is refused.
inline constexpr size_t kMaxFeedbackPackets = 8192;

class TransportFeedback {
  public:
    // `body`: the bytes after the two SSRCs. Nothing when its chunks do not cover the number of packets it declares, an
    // arrival time is missing, or there are more than kMaxFeedbackPackets.
    static std::optional<TransportFeedback> parse(uint32_t sender_ssrc, uint32_t media_ssrc,
                                                  std::span<const uint8_t> body);

    uint32_t sender_ssrc() const { return sender_ssrc_; }
    uint32_t media_ssrc() const { return media_ssrc_; }
    uint16_t base_sequence() const { return base_sequence_; }
    size_t packet_count() const { return packet_count_; }
    uint8_t feedback_count() const { return feedback_count_; }
    // In units of 64 ms, a signed 24-bit value.
    int32_t reference_time() const { return reference_time_; }

    // f(uint16_t sequence, std::optional<int64_t> arrival_us): the time is in the receiver's clock; nothing: not
    // received.
    template <class F>
    void for_each(F f) const {
        Cursor cursor(*this);
        int64_t ticks = reference_time_ * kTwccReferenceTicks;
        for (size_t i = 0; i < packet_count_; ++i) {
            auto sequence = static_cast<uint16_t>(base_sequence_ + i);
            std::optional<int> delta = cursor.next();
            if (delta) {
                ticks += *delta;
                f(sequence, std::optional<int64_t>(ticks * kTwccTickUs));
            } else {
                f(sequence, std::optional<int64_t>());
            }
        }
    }

  private:
    // Reads chunks and deltas in parallel.
    class Cursor {
      public:
        explicit Cursor(const TransportFeedback& feedback) : chunks_(feedback.chunks_), deltas_(feedback.deltas_) {}
        std::optional<int> next();
        bool ok() const { return ok_; }

      private:
        unsigned next_symbol();
        std::span<const uint8_t> chunks_, deltas_;
        uint16_t chunk_ = 0;
        unsigned left_ = 0;  // remaining symbols of the chunk
        bool ok_ = true;
    };
    TransportFeedback() = default;
    static std::optional<size_t> chunks_size(std::span<const uint8_t> body, size_t packets);

    uint32_t sender_ssrc_ = 0, media_ssrc_ = 0;
    uint16_t base_sequence_ = 0;
    uint16_t packet_count_ = 0;
    int32_t reference_time_ = 0;
    uint8_t feedback_count_ = 0;
    std::span<const uint8_t> chunks_, deltas_;
};

// Symbols: 0 not received, 1 a small delta of one byte, 2 a large or negative delta of two bytes, 3 reserved.
struct Chunk {
    bool vector;
    unsigned bits;   // of a symbol in a vector
    unsigned count;  // of symbols
    unsigned run_symbol;
};

inline Chunk read_chunk(uint16_t chunk) {
    if (!(chunk & 0x8000)) return {false, 0, chunk & 0x1fffu, chunk >> 13 & 3u};
    return chunk & 0x4000 ? Chunk{true, 2, 7, 0} : Chunk{true, 1, 14, 0};
}

inline std::optional<size_t> TransportFeedback::chunks_size(std::span<const uint8_t> body, size_t packets) {
    size_t covered = 0, at = 0;
    while (covered < packets) {
        if (at + 2 > body.size()) return std::nullopt;
        unsigned count = read_chunk(rtp::get_u16(&body[at])).count;
        if (count == 0) return std::nullopt;  // an empty run
        covered += count;
        at += 2;
    }
    return at;
}

inline std::optional<TransportFeedback> TransportFeedback::parse(uint32_t sender_ssrc, uint32_t media_ssrc,
                                                                 std::span<const uint8_t> body) {
    base::ByteReader in(body);
    TransportFeedback feedback;
    feedback.sender_ssrc_ = sender_ssrc;
    feedback.media_ssrc_ = media_ssrc;
    feedback.base_sequence_ = in.u16();
    feedback.packet_count_ = in.u16();
    feedback.reference_time_ = in.i24();
    feedback.feedback_count_ = in.u8();
    if (!in.ok() || feedback.packet_count_ == 0 || feedback.packet_count_ > kMaxFeedbackPackets) return std::nullopt;
    auto size = chunks_size(in.rest(), feedback.packet_count_);
    if (!size) return std::nullopt;
    feedback.chunks_ = in.rest().first(*size);
    feedback.deltas_ = in.rest().subspan(*size);
    Cursor cursor(feedback);
    for (size_t i = 0; i < feedback.packet_count_; ++i) cursor.next();
    return cursor.ok() ? std::optional(feedback) : std::nullopt;
}

inline unsigned TransportFeedback::Cursor::next_symbol() {
    if (left_ == 0) {
        if (chunks_.size() < 2) {
            ok_ = false;
            return 0;
        }
        chunk_ = rtp::get_u16(chunks_.data());
        chunks_ = chunks_.subspan(2);
        left_ = read_chunk(chunk_).count;
    }
    Chunk chunk = read_chunk(chunk_);
    --left_;
    if (!chunk.vector) return chunk.run_symbol;
    return chunk_ >> left_ * chunk.bits & ((1u << chunk.bits) - 1);
}

inline std::optional<int> TransportFeedback::Cursor::next() {
    unsigned symbol = next_symbol();
    if (symbol == 0) return std::nullopt;
    if (symbol == 3 || deltas_.size() < symbol) {
        ok_ = false;
        return std::nullopt;
    }
    int delta = symbol == 1 ? deltas_[0] : static_cast<int16_t>(rtp::get_u16(deltas_.data()));
    deltas_ = deltas_.subspan(symbol);
    return delta;
}

}  // namespace rtcp
