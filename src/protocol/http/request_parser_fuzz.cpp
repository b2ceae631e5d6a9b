// The request parser fed in pieces whose size is the first byte: no field of what it reads may depend on the size, nor
// may what is refused.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/result.h"
#include "protocol/http/conditional.h"
#include "protocol/http/range.h"
#include "protocol/http/request_parser.h"

namespace {

// Every field, so that requests are equal exactly if this text is.
std::string text_of(const http::Request& request) {
    std::string text = fmt::format("{} {} {} {} {}", static_cast<int>(request.method), request.minor_version,
                                   request.port, request.keep_alive, request.expects_continue);
    const auto add = [&](std::string_view field) { text += fmt::format(" {}:{}", field.size(), field); };
    for (const std::string* field :
         {&request.target, &request.raw_path, &request.path, &request.raw_query, &request.host, &request.body})
        add(*field);
    for (const auto& [name, value] : request.parameters) add(name), add(value);
    for (const auto& [name, value] : request.headers) add(name), add(value);
    return text + "\n";
}

std::string parse(std::span<const uint8_t> bytes, size_t piece) {
    http::Limits limits;
    limits.header_bytes = 1024;
    limits.header_count = 10;
    limits.target_bytes = 256;
    http::RequestParser parser(limits);
    std::string seen;
    bool has_head = false;
    while (true) {
        size_t used = 0;
        auto step = parser.feed(bytes.first(std::min(piece, bytes.size())), used);
        CHECK(used <= bytes.size());
        bytes = bytes.subspan(used);
        // A head with two faults is refused for either, as its pieces have them.
        if (step == http::RequestParser::Step::kError) return seen + (has_head ? "error" : "error in the head");
        if (step == http::RequestParser::Step::kHead) {
            has_head = true;
            seen += "head\n";
            if (!parser.accept_body(256))
                return seen + fmt::format("{} {}", parser.error_status(), parser.error_text());
        }
        if (step == http::RequestParser::Step::kNeedMore && bytes.empty()) return seen;
        if (step != http::RequestParser::Step::kMessage) continue;
        const http::Request& request = parser.request();
        CHECK(request.path == "*" || request.path.starts_with('/'));
        CHECK(("/" + request.path + "/").find("/../") == std::string::npos);
        CHECK(parser.body_bytes() == request.body.size());
        CHECK(request.body.size() <= 256 && request.headers.size() <= 10);
        auto range = http::parse_range(request.headers.get("Range"), request.body.size());
        CHECK(range.range.first + range.range.length <= request.body.size());
        http::not_modified(request.headers, {"\"a\"", 1});
        seen += text_of(request);
        has_head = false;
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
