#pragma once
// What may be part of the name of a stream (StreamKey) that comes from outside, by whatever protocol.

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace base {

inline constexpr size_t kMaxName = 256;  // bytes of a vhost, app or stream name

// Refuses what could not be part of a file name or URL: empty and long names, control characters, backslashes, "..",
// "//". what: "app", for the error's text. kProtocol, kLimit.
Result<void> check_name(std::string_view what, std::string_view name);

}  // namespace base
