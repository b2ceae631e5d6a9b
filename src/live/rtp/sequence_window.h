#pragma once
// SequenceWindow: which of the last sequence numbers of a track were assigned to a packet, whether or not that packet
// is still stored. An SRTP index must not be used for a second packet (protocol/srtp/sender.h), so a number is given
// away once. Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace live {

class SequenceWindow {
  public:
    static constexpr uint64_t kSize = 4096;

    // The newest number was `before` and is `now`, which is taken. The numbers between them are free.
    void advance(uint64_t before, uint64_t now) {
        if (!words_) words_ = std::make_unique<std::array<uint64_t, kSize / 64>>();
        if (now - before >= kSize)
            words_->fill(0);
        else
            for (uint64_t skipped = before + 1; skipped < now; ++skipped) word(skipped) &= ~bit(skipped);
        word(now) |= bit(now);
    }
    // Takes a number that is not the newest, but within kSize of it. False: it was taken before.
    bool take(uint64_t sequence) {
        const bool is_free = (word(sequence) & bit(sequence)) == 0;
        word(sequence) |= bit(sequence);
        return is_free;
    }

  private:
    uint64_t& word(uint64_t sequence) { return (*words_)[sequence / 64 % words_->size()]; }
    static uint64_t bit(uint64_t sequence) { return uint64_t{1} << sequence % 64; }

    std::unique_ptr<std::array<uint64_t, kSize / 64>> words_;  // null: before the first packet
};

}  // namespace live
