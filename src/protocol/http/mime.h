#pragma once
// Content types by file name.

#include <string_view>

namespace http {

// By the extension, without regard to case; "application/octet-stream" for an unknown one.
std::string_view mime_type(std::string_view path);

}  // namespace http
