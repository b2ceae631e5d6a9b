#pragma once
// Cursor: the position of a viewer in a log: what it may be sent next, when it has all that it is to get, where it goes
// on after it was too far behind, and when it is too slow. Pure: it knows the log by its index of packets.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "live/fanout/packet_index.h"
#include "media/frame.h"

namespace live {

class Cursor {
  public:
    // The offset of the next byte to send; while it waits: of the first possible start.
    uint64_t position() const { return position_; }
    bool plays() const { return state_ == State::kPlaying; }
    bool waits() const { return state_ == State::kWaiting || state_ == State::kHolding; }
    // The log must keep the bytes from this offset on for it; UINT64_MAX: none.
    uint64_t needed_from() const {
        return state_ == State::kPlaying || state_ == State::kHolding ? position_ : UINT64_MAX;
    }

    // For a start at that offset or later.
    void wait_from(uint64_t offset) { set(State::kWaiting, offset); }
    // For something else; then it begins at that offset, a start.
    void hold(uint64_t offset) { set(State::kHolding, offset); }
    void play_from(uint64_t offset) { set(State::kPlaying, offset); }
    // It gets nothing of the log.
    void stop() { state_ = State::kStopped; }

    // ---- What it may be sent

    // The end of the packet under way, whose rest comes before anything else.
    uint64_t packet_end(const PacketIndex& log) const { return plays() ? log.packet_end(position_) : position_; }
    // The end of the bytes that it may be sent now.
    uint64_t limit(const PacketIndex& log) const {
        if (!plays()) return position_;
        uint64_t end = std::min(log.head(), end_);
        if (end_dts_ != media::Time::max()) end = std::min(end, log.offset_at(end_dts_));
        return std::max(position_, end);
    }
    void advance(uint64_t bytes) { position_ += bytes; }

    // ---- When it has all

    // What is published from now on is not for it. False: that was said before.
    bool end_here(const PacketIndex& log);
    bool ends() const { return end_ != UINT64_MAX; }
    void forget_end() { end_ = UINT64_MAX; }
    // Packets from that time on are not for it.
    void end_at(media::Time dts) { end_dts_ = dts; }
    enum class Rest : uint8_t { kMore, kStreamEnded, kDurationOver };
    // What remains where nothing is left to send.
    Rest rest(const PacketIndex& log) const;

    // ---- When it is too far behind, or too slow

    bool is_before(uint64_t lag_limit) const { return plays() && position_ < lag_limit; }
    // Goes on at the newest start from the end of a packet, or waits for the next one. Returns the bytes skipped.
    uint64_t jump(const PacketIndex& log, std::optional<uint64_t> newest_start);
    // Bytes were accepted, or there was nothing to send.
    void record_progress(int64_t now_ms) { progress_ms_ = now_ms; }
    int64_t stalled_ms(int64_t now_ms) const { return now_ms - progress_ms_; }
    // limit_ms: send_timeout; 0: none.
    bool is_too_slow(int64_t now_ms, int64_t limit_ms) const { return limit_ms > 0 && stalled_ms(now_ms) > limit_ms; }

  private:
    enum class State : uint8_t { kStopped, kWaiting, kHolding, kPlaying };
    void set(State state, uint64_t offset) {
        state_ = state;
        position_ = offset;
    }

    uint64_t position_ = 0;
    uint64_t end_ = UINT64_MAX;
    media::Time end_dts_ = media::Time::max();
    int64_t progress_ms_ = 0;
    State state_ = State::kStopped;
};

}  // namespace live
