#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "protocol/http/via.h"
#include "service/edge/origin.h"
#include "service/edge/params.h"

// The first byte: whether it is read as an origin, as where a server redirects to, as parameters of a client, or as a
// path of servers. What is taken is a URL without control characters.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace service::edge;
    if (size < 1) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    const base::StreamKey key{"v", "live", "s"};
    const auto check = [](const base::Result<service::relay::Target>& source) {
        if (!source) return;
        for (const char c : source->url) CHECK(static_cast<unsigned char>(c) > ' ');
    };
    if (data[0] % 4 == 0) {
        const auto origin = parse_origin(text);
        for (const Scheme scheme : {Scheme::kRtmp, Scheme::kHttps})
            if (origin) check(target_of(*origin, scheme, key, "vhost.com", "?k=v"));
    } else if (data[0] % 4 == 1) {
        const auto origin = parse_origin("a:1");
        for (const Scheme scheme : {Scheme::kRtmp, Scheme::kHttp})
            check(redirected(*target_of(*origin, scheme, key, "v", ""), text));
    } else if (data[0] % 4 == 2) {
        const auto origin = parse_origin("a");
        check(target_of(*origin, Scheme::kHttp, key, "v", params_for_origin(text)));
    } else {
        static const std::string kOwn = new_request_name();
        std::string path = kOwn;
        add_to_path(path, text);
        CHECK(http::has_passed(path, kOwn) && path.size() <= 1024);
    }
    return 0;
}
