#pragma once
// Conditional requests (RFC 9110, section 13): is what the client has still what we have?

#include <cstdint>
#include <string_view>

#include "protocol/http/headers.h"

namespace http {

struct Validators {
    std::string_view etag;         // strong, with its quotes
    int64_t modified_seconds = 0;  // since 1970
};

// GET or HEAD of these validators is answered 304: If-None-Match, and where that is not there If-Modified-Since.
bool not_modified(const Headers& request, const Validators& validators);
// If-Match or If-Unmodified-Since fails: 412.
bool precondition_failed(const Headers& request, const Validators& validators);
// Whether a Range field counts: there is no If-Range, or it matches.
bool range_applies(const Headers& request, const Validators& validators);

}  // namespace http
