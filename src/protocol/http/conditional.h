#pragma once
// Conditional requests (RFC 9110, section 13): whether the client's copy is still current.

#include <cstdint>
#include <string_view>

#include "protocol/http/headers.h"

namespace http {

struct Validators {
    std::string_view etag;         // strong, with its quotes
    int64_t modified_seconds = 0;  // since 1970
};

// Whether a GET or HEAD is answered with 304: by If-None-Match, or by If-Modified-Since where that is absent.
bool not_modified(const Headers& request, const Validators& validators);
// Whether If-Match or If-Unmodified-Since fails: the answer is 412.
bool precondition_failed(const Headers& request, const Validators& validators);
// Whether a Range field applies: there is no If-Range, or it matches.
bool range_applies(const Headers& request, const Validators& validators);

}  // namespace http
