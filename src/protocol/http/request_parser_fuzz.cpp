// The request parser fed in pieces whose size is the first byte: the result must not depend on the size.

#include <algorithm>
#include <string>

#include "base/result.h"
#include "protocol/http/conditional.h"
#include "protocol/http/range.h"
#include "protocol/http/request_parser.h"

namespace {

std::string parse(std::span<const uint8_t> bytes, size_t piece) {
    http::Limits limits;
    limits.header_bytes = 1024;
    limits.header_count = 10;
    limits.target_bytes = 256;
    http::RequestParser parser(limits);
    std::string seen;
    while (true) {
        size_t used = 0;
        auto step = parser.feed(bytes.first(std::min(piece, bytes.size())), used);
        CHECK(used <= bytes.size());
        bytes = bytes.subspan(used);
        if (step == http::RequestParser::Step::kError ||
            (step == http::RequestParser::Step::kHead && !parser.accept_body(256)))
            return seen + "error";
        if (step == http::RequestParser::Step::kNeedMore && bytes.empty()) return seen;
        if (step != http::RequestParser::Step::kMessage) continue;
        const http::Request& request = parser.request();
        CHECK(request.path == "*" || request.path.starts_with('/'));
        CHECK(("/" + request.path + "/").find("/../") == std::string::npos);
        CHECK(request.body.size() <= 256 && request.headers.size() <= 10);
        auto range = http::parse_range(request.headers.get("Range"), request.body.size());
        CHECK(range.range.first + range.range.length <= request.body.size());
        http::not_modified(request.headers, {"\"a\"", 1});
        seen += request.path + "\n" + request.body + "\n";
        parser.reset();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    std::span<const uint8_t> bytes(data + 1, size - 1);
    CHECK(parse(bytes, data[0] + 1u) == parse(bytes, SIZE_MAX));
    return 0;
}
