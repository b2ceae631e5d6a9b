#pragma once
// Content types by file name.

#include <string_view>

namespace http {

// By the extension, without case; "application/octet-stream" where it is not known.
std::string_view mime_type(std::string_view path);

}  // namespace http
