#include "protocol/rtcp/transport_feedback.h"

#include "base/bytes.h"
#include "protocol/rtp/packet.h"

namespace rtcp {

namespace {

// Symbols: 0 not received, 1 a small delta of one byte, 2 a large or negative delta of two bytes, 3 reserved.
struct Chunk {
    bool vector;
    unsigned bits;   // of a symbol in a vector
    unsigned count;  // of symbols
    unsigned run_symbol;
};

Chunk read_chunk(uint16_t chunk) {
    if (!(chunk & 0x8000)) return {false, 0, chunk & 0x1fffu, chunk >> 13 & 3u};
    return chunk & 0x4000 ? Chunk{true, 2, 7, 0} : Chunk{true, 1, 14, 0};
}

}  // namespace

std::optional<size_t> TransportFeedback::chunks_size(std::span<const uint8_t> body, size_t packets) {
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

std::optional<TransportFeedback> TransportFeedback::parse(uint32_t sender_ssrc, uint32_t media_ssrc,
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

unsigned TransportFeedback::Cursor::next_symbol() {
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

std::optional<int> TransportFeedback::Cursor::next() {
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
