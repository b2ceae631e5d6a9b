#pragma once
// MessageRing: the last bytes of one stream as messages of at most kMaxBytes, for protocols that send datagrams with
// numbers: the source for sending to players, for the start of new players and for repairs. The bytes are stored once,
// in blocks shared by many messages. Consecutive packets of the encoder are put into one message until close(), so that
// what is sent together needs few datagrams, all of one size but the last. Bounded in messages, bytes and time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/slice.h"

namespace live {

struct Message {
    base::Slice bytes;    // 1 to MessageRing::kMaxBytes
    int64_t time_us = 0;  // by the loop's clock, of its first byte
    bool start = false;   // a decoder may begin here
};

struct MessageRingLimits {
    size_t messages = 16'384;  // a power of two
    size_t bytes = 16 * 1024 * 1024;
    int64_t history_us = 2'000'000;  // always kept for repairs
    int64_t max_us = 10'000'000;     // kept at most, to reach back to the newest start
};

class MessageRing {
  public:
    // Seven cells of a transport stream: what receivers of SRT and of TS over UDP have room for.
    static constexpr size_t kMaxBytes = 1316;

    explicit MessageRing(const MessageRingLimits& limits = {});
    ~MessageRing() { clear(); }
    MessageRing(const MessageRing&) = delete;

    // Indices count all messages since the beginning. Those in [begin, end) are available.
    uint64_t begin() const { return begin_; }
    uint64_t end() const { return end_; }
    const Message& at(uint64_t index) const { return slots_[index & mask_]; }
    // The first message from where a decoder may begin, of the newest ones; nothing: none is left.
    std::optional<uint64_t> newest_start() const;

    // Room for a packet of that many bytes, which the caller writes before the next call. A start begins a message.
    uint8_t* append(size_t bytes, int64_t now_us, bool start);
    // The message that is being filled is complete.
    void close();
    bool has_open() const { return open_bytes_ > 0; }
    // Repairs need so much more history than the limit says: the largest delay that a player has agreed on.
    void keep_at_least(int64_t history_us);
    // Players must not begin with earlier messages.
    void forget_start() { start_ = kNone; }
    // What players need no more for repairs is dropped, the start too.
    void drop_history(int64_t now_us);
    void clear();

    size_t messages() const { return end_ - begin_; }
    size_t bytes() const { return bytes_; }
    // Of what it holds, bytes per second; 0: it holds too little.
    int64_t rate() const;
    // Bytes of allocations. Messages at the front of the first block may be dropped, the last block is not full.
    size_t memory() const { return bytes_ + (block_.empty() ? 0 : 2 * kBlockBytes) + slots_.size() * sizeof(Message); }

  private:
    static constexpr size_t kBlockBytes = 64 * 1024;
    static constexpr size_t kFirstSlots = 128;
    // Old messages are dropped some at a time: their memory left the processor's cache long ago.
    static constexpr int64_t kTrimEveryUs = 200'000;
    static constexpr uint64_t kNone = UINT64_MAX;

    void cut(size_t bytes);
    void trim(int64_t now_us);
    void drop_first();
    void grow();

    std::vector<Message> slots_;
    size_t mask_ = 0;  // their number - 1
    uint64_t begin_ = 0;
    uint64_t end_ = 0;
    uint64_t start_ = kNone;
    size_t bytes_ = 0;
    base::Slice block_;
    uint8_t* free_ = nullptr;  // in block_
    size_t free_bytes_ = 0;
    size_t open_bytes_ = 0;  // before free_: of the message that is being filled
    int64_t open_time_us_ = 0;
    bool open_starts_ = false;
    int64_t trim_at_us_ = INT64_MIN;  // the next time
    MessageRingLimits limits_;
};

}  // namespace live
