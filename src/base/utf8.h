#pragma once
// UTF-8 (RFC 3629).

#include <string>
#include <string_view>

namespace base {

// A peer's text as UTF-8, of about `limit` bytes at most: '?' stands for each byte that is none.
std::string utf8(std::string_view text, size_t limit);

}  // namespace base
