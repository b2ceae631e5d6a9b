#pragma once
// Range requests (RFC 9110, section 14) for one range of bytes. A request for several ranges is answered with the whole
// representation, which the specification allows.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace http {

struct ByteRange {
    uint64_t first = 0;
    uint64_t length = 0;
};

struct RangeResult {
    enum class Kind : uint8_t {
        kWhole,          // no range, several, another unit, or malformed: 200
        kPart,           // 206
        kUnsatisfiable,  // 416
    };
    Kind kind = Kind::kWhole;
    ByteRange range;
};

// value: of the Range field. size: of the representation, in bytes.
RangeResult parse_range(std::string_view value, uint64_t size);
// "bytes 0-99/1234"; for 416 "bytes */1234".
std::string content_range(const ByteRange& range, uint64_t size);
std::string content_range_unsatisfied(uint64_t size);

}  // namespace http
