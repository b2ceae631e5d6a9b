#pragma once
// SYN cookies of a listener (draft-sharabayko-srt-01, 4.3.1.1), by which it keeps nothing of a caller before that has
// shown that it receives what is sent to its address: a keyed hash (SipHash-2-4) of address, port and minute.

#include <array>
#include <cstdint>
#include <span>

#include "base/endpoint.h"

namespace srt {

// Random bytes that nobody else knows.
using CookieSecret = std::array<uint8_t, 16>;

// SipHash-2-4 (Aumasson and Bernstein, 2012).
uint64_t sip_hash(const CookieSecret& key, std::span<const uint8_t> bytes);

uint32_t make_cookie(const CookieSecret& secret, const base::Endpoint& from, int64_t now_us);
// Valid in the minute in which it was made and the next.
bool is_cookie(uint32_t cookie, const CookieSecret& secret, const base::Endpoint& from, int64_t now_us);

}  // namespace srt
