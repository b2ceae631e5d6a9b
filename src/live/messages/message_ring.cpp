#include "live/messages/message_ring.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/result.h"
#include "runtime/senders/senders.h"

namespace live {
namespace {

// A rate is measured over at least this long.
constexpr int64_t kMinRateUs = 500'000;

}  // namespace

MessageRing::MessageRing(const MessageRingLimits& limits) : limits_(limits) {
    CHECK(std::has_single_bit(limits.messages));
}

std::optional<uint64_t> MessageRing::newest_start() const {
    if (start_ == kNone || start_ < begin_) return std::nullopt;
    return start_;
}

uint8_t* MessageRing::append(size_t bytes, int64_t now_us, bool start) {
    // A message lies in one block.
    if (start || bytes > free_bytes_) close();
    if (bytes > free_bytes_) {
        base::SliceBuilder builder(std::max(kBlockBytes, bytes));
        free_bytes_ = builder.capacity();
        free_ = builder.extend(free_bytes_);
        block_ = builder.freeze();
    }
    if (now_us >= trim_at_us_) trim(now_us);
    uint8_t* out = free_;
    if (open_bytes_ == 0) {
        open_time_us_ = now_us;
        open_starts_ = start;
    }
    free_ += bytes;
    free_bytes_ -= bytes;
    open_bytes_ += bytes;
    for (; open_bytes_ >= kMaxBytes; open_time_us_ = now_us) cut(kMaxBytes);
    return out;
}

void MessageRing::close() {
    if (open_bytes_ > 0) cut(open_bytes_);
}

// The first bytes of the open message are complete.
void MessageRing::cut(size_t bytes) {
    if (messages() == slots_.size()) {
        if (slots_.size() < limits_.messages) {
            grow();
        } else {
            drop_first();
        }
    }
    const size_t at = static_cast<size_t>(free_ - block_.data()) - open_bytes_;
    if (open_starts_) start_ = end_;
    slots_[end_ & mask_] = {block_.sub(at, bytes), open_time_us_, open_starts_};
    ++end_;
    bytes_ += bytes;
    open_bytes_ -= bytes;
    open_starts_ = false;
    while (bytes_ > limits_.bytes) drop_first();
}

void MessageRing::keep_at_least(int64_t history_us) {
    limits_.history_us = std::max(limits_.history_us, history_us);
    limits_.max_us = std::max(limits_.max_us, history_us);
}

void MessageRing::trim(int64_t now_us) {
    trim_at_us_ = now_us + kTrimEveryUs;
    while (begin_ + 1 < end_) {
        const int64_t age_us = now_us - at(begin_).time_us;
        if (age_us <= limits_.history_us || (age_us <= limits_.max_us && begin_ == start_)) return;
        drop_first();
    }
}

void MessageRing::drop_history(int64_t now_us) {
    while (begin_ + 1 < end_ && now_us - at(begin_).time_us > limits_.history_us) drop_first();
}

void MessageRing::drop_first() {
    Message& first = slots_[begin_ & mask_];
    bytes_ -= first.bytes.size();
    ++begin_;
    // Other holders of the block do not know of the threads: its last message here keeps it for them.
    runtime::Senders* threads = runtime::senders();
    if (threads && !(begin_ < end_ && first.bytes.shares_memory(at(begin_).bytes)))
        threads->retire(std::move(first.bytes));
    first.bytes = {};
}

int64_t MessageRing::rate() const {
    if (messages() < 2) return 0;
    const int64_t span_us = at(end_ - 1).time_us - at(begin_).time_us;
    return span_us < kMinRateUs ? 0 : static_cast<int64_t>(bytes_) * 1'000'000 / span_us;
}

void MessageRing::grow() {
    const size_t size = slots_.empty() ? std::min(kFirstSlots, limits_.messages) : slots_.size() * 2;
    std::vector<Message> wider(size);
    for (uint64_t index = begin_; index < end_; ++index) wider[index & (size - 1)] = std::move(slots_[index & mask_]);
    slots_ = std::move(wider);
    mask_ = size - 1;
}

void MessageRing::clear() {
    while (begin_ < end_) drop_first();
    start_ = kNone;
    open_bytes_ = 0;
    open_starts_ = false;
    std::vector<Message>().swap(slots_);
    block_ = {};
    free_ = nullptr;
    free_bytes_ = 0;
}

}  // namespace live
