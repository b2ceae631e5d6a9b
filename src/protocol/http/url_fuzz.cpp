// URLs to fetch from: the result must be valid in the head of a request, and parse to the same result again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "protocol/http/url.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto url = http::parse_absolute_url({reinterpret_cast<const char*>(data), size});
    if (!url) return 0;
    CHECK(!url->host.empty() && url->port != 0 && url->target.starts_with('/'));
    auto printable = [](char c) { return static_cast<uint8_t>(c) > 0x20 && c != 0x7f; };
    CHECK(std::ranges::all_of(url->target, printable) && std::ranges::all_of(url->authority, printable));
    auto again = http::parse_absolute_url((url->tls ? "https://" : "http://") + url->authority + url->target);
    CHECK(again && again->host == url->host && again->port == url->port && again->target == url->target);
    return 0;
}
