#include <cstdint>
#include <string_view>

#include "protocol/rtmp/url.h"

// The first byte of the input sets where app ends, the second where the stream begins.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)rtmp::parse_url(text);
    (void)rtmp::parse_url(text, false);
    if (size < 2) return 0;
    std::string_view rest = text.substr(2);
    size_t one = std::min<size_t>(data[0], rest.size());
    size_t two = std::min<size_t>(data[1], rest.size() - one);
    auto address = rtmp::resolve_stream(rest.substr(0, one), rest.substr(one, two), rest.substr(one + two));
    if (address && (address->app.find("..") != std::string::npos || address->stream.find('/') != std::string::npos))
        __builtin_trap();
    return 0;
}
