#pragma once
// The value of Content-Disposition (RFC 6266) with which a browser saves a file, under that name.

#include <string>
#include <string_view>

#include "protocol/http/url.h"

namespace http {

// The name in ASCII for old clients, and as it is.
inline std::string attachment(std::string_view name) {
    std::string plain;
    for (const char c : name) plain += c >= 0x20 && c < 0x7f && c != '"' && c != '\\' ? c : '_';
    return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + percent_encode(name);
}

}  // namespace http
