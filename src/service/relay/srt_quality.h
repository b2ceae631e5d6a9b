#pragma once
// SrtMeter: what a connection by SRT loses and sends again, over the last 10 to 12 s.

#include <array>
#include <cstddef>
#include <cstdint>

#include "net/sessions/session_view.h"
#include "protocol/srt/connection.h"

namespace service::relay {

class SrtMeter {
  public:
    // About once a second.
    void on_second(const ::srt::Connection& connection);
    // key_bytes: 0: it does not encrypt.
    net::SrtQuality quality(const ::srt::Connection& connection, size_t key_bytes) const;

  private:
    // Of all of its time; differences are right when they wrap.
    struct Counts {
        uint32_t packets = 0;  // without repairs
        uint32_t lost = 0;     // came later than others, or were requested
        uint32_t repairs = 0;
    };
    static Counts counts_of(const ::srt::Connection& connection);

    static constexpr unsigned kSeconds = 2;  // between samples
    std::array<Counts, 6> samples_{};        // the next one to be replaced is the oldest
    uint8_t next_ = 0, seconds_ = 0;
};

}  // namespace service::relay
