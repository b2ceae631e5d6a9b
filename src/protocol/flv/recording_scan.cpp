// RecordingScan of recording.h: a small state machine over the headers of tags.

#include <algorithm>

#include "base/bytes.h"
#include "protocol/flv/enhanced.h"
#include "protocol/flv/recording.h"
#include "protocol/flv/tag.h"

namespace flv {

using media::Kind;

// Moves bytes into held_bytes_ until it has `want` bytes; false when more input is needed.
bool RecordingScan::hold(std::span<const uint8_t>& bytes, size_t want) {
    size_t n = std::min(bytes.size(), want - held_);
    std::copy_n(bytes.data(), n, held_bytes_ + held_);
    held_ += n;
    bytes = bytes.subspan(n);
    return held_ == want;
}

bool RecordingScan::read_header() {
    base::ByteReader r(held_bytes_);
    type_ = r.u8();
    body_ = r.u24();
    time_ = r.u24();
    time_ |= static_cast<uint32_t>(r.u8()) << 24;
    bool known = type_ == static_cast<uint8_t>(TagType::kAudio) || type_ == static_cast<uint8_t>(TagType::kVideo) ||
                 type_ == static_cast<uint8_t>(TagType::kScript);
    return known && r.u24() == 0;
}

// Uses the times of frames only: script tags and sequence headers may have the timestamp 0.
void RecordingScan::add_frame(Kind kind, bool keyframe) {
    frame_ms_ = frame_ms_ ? *frame_ms_ + static_cast<int32_t>(time_ - static_cast<uint32_t>(*frame_ms_)) : time_;
    index_.add(kind, *frame_ms_, keyframe, whole_);
}

// The first two bytes of the body show whether it is a frame and whether it is a keyframe.
void RecordingScan::add_tag() {
    uint8_t first = peeked_[0], second = body_ > 1 ? peeked_[1] : 0;
    if (type_ == static_cast<uint8_t>(TagType::kVideo) && body_ > 0) {
        uint8_t packet = first & 15;
        bool enhanced = first & 0x80;
        bool frame = enhanced ? packet == kVideoCodedFrames || packet == kVideoCodedFramesX
                              : (packet != 7 && packet != 12) || second == 1;
        if (frame) add_frame(Kind::kVideo, (first >> 4 & 7) == 1);
    } else if (type_ == static_cast<uint8_t>(TagType::kAudio) && body_ > 0) {
        bool frame = first >> 4 == kExAudio ? (first & 15) == kAudioCodedFrames : first >> 4 != 10 || second == 1;
        if (frame) add_frame(Kind::kAudio, false);
    }
    whole_ += kTagHeaderSize + body_ + kPreviousTagSize;
}

// Processes one part of a tag; false when the input is used up.
bool RecordingScan::step(std::span<const uint8_t>& bytes) {
    size_t peek = std::min<size_t>(body_, kPeek);
    switch (state_) {
        case State::kHeader:
            if (!hold(bytes, kTagHeaderSize)) return false;
            state_ = read_header() ? State::kPeek : State::kBroken;
            break;
        case State::kPeek:
            if (!hold(bytes, peek)) return false;
            peeked_[0] = held_bytes_[0];
            peeked_[1] = held_bytes_[1];
            skip_ = body_ - static_cast<uint32_t>(peek);
            state_ = State::kSkip;
            break;
        case State::kSkip: {
            size_t n = std::min<size_t>(skip_, bytes.size());
            skip_ -= static_cast<uint32_t>(n);
            bytes = bytes.subspan(n);
            if (skip_ > 0) return false;
            state_ = State::kEnd;
            break;
        }
        case State::kEnd: {
            if (!hold(bytes, kPreviousTagSize)) return false;
            base::ByteReader r(held_bytes_);
            state_ = r.u32() == kTagHeaderSize + body_ ? State::kHeader : State::kBroken;
            if (state_ == State::kHeader) add_tag();
            break;
        }
        case State::kBroken:
            return false;
    }
    held_ = 0;
    return true;
}

bool RecordingScan::feed(std::span<const uint8_t> bytes) {
    while (step(bytes)) {
    }
    return state_ != State::kBroken;
}

}  // namespace flv
