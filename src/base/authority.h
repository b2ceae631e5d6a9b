#pragma once
// The authority of a URL (RFC 3986, section 3.2): "user:password@host:port", "[::1]:port". It is split for every scheme
// in one way; which characters a host may have, and what a missing port means, is for the callers.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace base {

struct Authority {
    std::string_view user{};         // what is before the last '@', as sent
    std::string_view host{};         // without brackets; may be empty
    std::optional<uint16_t> port{};  // nothing: there is none, or nothing behind the colon
};

// kProtocol: a '[' without its ']', or a port that is no number up to 65535. The texts have nothing of it. The parts
// point into the text.
Result<Authority> split_authority(std::string_view text);

}  // namespace base
