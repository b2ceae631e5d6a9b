#pragma once
// What this server calls itself.

#include <string_view>

namespace server {

inline constexpr std::string_view kVersion = "0.1.0";
inline constexpr std::string_view kSignature = "SRS/0.1.0";
// Of SRS, whose interface this is: told where clients of SRS look for a version that they know.
inline constexpr std::string_view kInterfaceVersion = "7.0.18";

}  // namespace server
