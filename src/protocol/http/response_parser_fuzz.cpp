// The response parser fed in pieces whose size is the first byte.

#include <algorithm>
#include <string>

#include "base/result.h"
#include "protocol/http/response_parser.h"

namespace {

std::string parse(std::span<const uint8_t> bytes, size_t piece) {
    http::ResponseParser parser;
    std::string seen;
    while (true) {
        size_t used = 0;
        auto step = parser.feed(bytes.first(std::min(piece, bytes.size())), used);
        CHECK(used <= bytes.size());
        bytes = bytes.subspan(used);
        if (step == http::ResponseParser::Step::kBody)
            seen.append(reinterpret_cast<const char*>(parser.data().data()), parser.data().size());
        if (step == http::ResponseParser::Step::kError) return "error";
        if (step == http::ResponseParser::Step::kNeedMore && bytes.empty())
            return parser.finish() == http::ResponseParser::Step::kMessage ? seen + "closed" : "error";
        if (step == http::ResponseParser::Step::kMessage) return seen + "message";
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    std::span<const uint8_t> bytes(data + 1, size - 1);
    CHECK(parse(bytes, data[0] + 1u) == parse(bytes, SIZE_MAX));
    return 0;
}
