// Fuzzes the parser of a backend's answer with any bytes: the result is an error, or destinations, each of which gives
// a target or an error.
#include <cstddef>
#include <cstdint>

#include "protocol/rtmp/url.h"
#include "service/forward/backend.h"
#include "service/forward/target.h"

using namespace service::forward;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto urls = read_backend_answer({reinterpret_cast<const char*>(data), size});
    if (!urls) return 0;
    CHECK(urls->size() <= kMaxDestinations);
    for (const std::string& url : *urls) {
        auto target = make_target(url, {"a.com", "live", "s"}, "?k=v");
        if (!target) continue;
        CHECK(!target->shown.empty() && !target->text.empty());
        if (!target->rtmp) continue;
        const auto address = ::rtmp::parse_url(target->rtmp->url);
        CHECK(address && !address->host.empty() && !address->app.empty());
    }
    return 0;
}
