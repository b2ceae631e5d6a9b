#pragma once
// DeferredRtp: an RTP packet that another thread is to protect: all that this takes, by value, but for the payload,
// which must stay valid until then. Filled by Sender::defer_rtp(). Trivially copyable.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "protocol/srtp/keys.h"
#include "protocol/srtp/session_keys.h"

namespace srtp {

class DeferredRtp {
  public:
    // Header with extensions, and what precedes the payload (RTX: two bytes).
    static constexpr size_t kMaxCopied = 64;

    // As Sender::protect_rtp(). On any thread.
    size_t protect(uint8_t* out) const;
    // The object's bytes that are in use, from its beginning; the others need not be copied.
    size_t used() const { return offsetof(DeferredRtp, copied_) + header_size_ + first_size_; }

  private:
    friend class Sender;
    SessionKeys keys_;
    Profile profile_;
    uint8_t header_size_;
    uint8_t first_size_;
    uint32_t payload_size_;
    uint64_t index_;
    const uint8_t* payload_;
    std::array<uint8_t, kMaxCopied> copied_;  // header, then `first`
};
static_assert(std::is_trivially_copyable_v<DeferredRtp>);

}  // namespace srtp
