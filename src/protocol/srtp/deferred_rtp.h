#pragma once
// DeferredRtp: an RTP packet that another thread is to protect with the session's RtpCipher: the header by value, where
// the payload is, and the index. There are many of them in a sender thread's ring, so it is small. Trivially copyable.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/result.h"
#include "protocol/srtp/rtp_cipher.h"

namespace srtp {

class DeferredRtp {
  public:
    // Header with extensions, and what precedes the payload (RTX: two bytes).
    static constexpr size_t kMaxCopied = 64;

    // As Sender::protect_rtp(), which Sender::check_rtp() replaces. second: must stay valid until it is protected.
    // header and first: at most kMaxCopied bytes.
    DeferredRtp(std::span<const uint8_t> header, std::span<const uint8_t> first, std::span<const uint8_t> second,
                uint64_t index)
        : index_(index),
          payload_(second.data()),
          payload_size_(static_cast<uint16_t>(second.size())),
          header_size_(static_cast<uint8_t>(header.size())),
          first_size_(static_cast<uint8_t>(first.size())) {
        CHECK(header.size() + first.size() <= kMaxCopied && second.size() <= UINT16_MAX);
        std::memcpy(copied_, header.data(), header.size());
        if (!first.empty()) std::memcpy(copied_ + header.size(), first.data(), first.size());
    }
    // On any thread. Returns the size.
    size_t protect(const RtpCipher& cipher, uint8_t* out) const {
        return cipher.protect({copied_, header_size_}, {copied_ + header_size_, first_size_}, {payload_, payload_size_},
                              index_, out);
    }
    // The object's bytes that are in use, from its beginning; the others need not be copied.
    size_t used() const { return offsetof(DeferredRtp, copied_) + header_size_ + first_size_; }

  private:
    uint64_t index_;
    const uint8_t* payload_;
    uint16_t payload_size_;
    uint8_t header_size_;
    uint8_t first_size_;
    uint8_t copied_[kMaxCopied];  // header, then `first`
};
static_assert(std::is_trivially_copyable_v<DeferredRtp>);

}  // namespace srtp
