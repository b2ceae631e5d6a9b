#pragma once
// The server's name and version.

#include <string_view>

namespace server {

inline constexpr std::string_view kVersion = "0.1.0";
inline constexpr std::string_view kSignature = "SRS/0.1.0";
// The version of SRS whose interface this is, reported where clients of SRS check for a version that they know.
inline constexpr std::string_view kInterfaceVersion = "7.0.18";

}  // namespace server
