#pragma once
// What this server calls itself.

#include <string_view>

namespace server {

inline constexpr std::string_view kVersion = "0.1.0";
inline constexpr std::string_view kSignature = "SRS/0.1.0";

}  // namespace server
