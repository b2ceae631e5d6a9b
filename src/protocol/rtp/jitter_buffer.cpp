#include "protocol/rtp/jitter_buffer.h"

#include <algorithm>
#include <utility>

namespace rtp {

void JitterBuffer::push(JitterPacket packet) {
    if (!next_) next_ = packet.sequence;
    if (packet.sequence < *next_) {
        ++counters_.late;
        return;
    }
    auto at = packets_.end();
    while (at != packets_.begin() + static_cast<ptrdiff_t>(head_) && (at - 1)->sequence >= packet.sequence) --at;
    if (at != packets_.end() && at->sequence == packet.sequence) {
        ++counters_.late;
        return;
    }
    packets_.insert(at, std::move(packet));
}

std::optional<JitterBuffer::Next> JitterBuffer::pop(int64_t now_us, std::optional<int64_t> requested_since_us) {
    if (waiting() == 0) return std::nullopt;
    JitterPacket& first = packets_[head_];
    bool hole = first.sequence != *next_;
    const bool is_awaited =
        now_us - first.arrival_us < limits_.wait_us || (requested_since_us && *requested_since_us <= first.arrival_us);
    if (hole && is_awaited && waiting() <= limits_.packets) return std::nullopt;
    if (hole) counters_.given_up += first.sequence - *next_;
    next_ = first.sequence + 1;
    Next result{std::exchange(first, {}), hole};
    if (++head_ == packets_.size()) {
        packets_.clear();
        head_ = 0;
    } else if (head_ > limits_.packets) {
        packets_.erase(packets_.begin(), packets_.begin() + static_cast<ptrdiff_t>(head_));
        head_ = 0;
    }
    return result;
}

size_t JitterBuffer::memory() const {
    size_t bytes = packets_.capacity() * sizeof(JitterPacket);
    for (const JitterPacket& packet : packets_) bytes += packet.payload.memory();
    return bytes;
}

void JitterBuffer::reset() {
    packets_.clear();
    head_ = 0;
    next_.reset();
}

}  // namespace rtp
