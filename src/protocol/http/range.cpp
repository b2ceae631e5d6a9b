#include "protocol/http/range.h"

#include <fmt/core.h>

#include <algorithm>

#include "protocol/http/headers.h"

namespace http {

namespace {

// Digits only; nullopt when there are none or more than 18, which bounds the value below 2^63.
std::optional<uint64_t> number(std::string_view text) {
    if (text.empty() || text.size() > 18) return std::nullopt;
    uint64_t value = 0;
    for (char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + static_cast<uint64_t>(c - '0');
    }
    return value;
}

}  // namespace

RangeResult parse_range(std::string_view value, uint64_t size) {
    RangeResult whole;
    RangeResult none{RangeResult::Kind::kUnsatisfiable, {}};
    value = trim(value);
    size_t equals = value.find('=');
    if (equals == std::string_view::npos || !equal_ignoring_case(value.substr(0, equals), "bytes")) return whole;
    value = trim(value.substr(equals + 1));
    if (value.find(',') != std::string_view::npos) return whole;
    size_t dash = value.find('-');
    if (dash == std::string_view::npos) return whole;
    std::string_view first_text = trim(value.substr(0, dash)), last_text = trim(value.substr(dash + 1));
    auto first = number(first_text), last = number(last_text);
    if ((!first && !first_text.empty()) || (!last && !last_text.empty()) || (!first && !last)) return whole;
    RangeResult part{RangeResult::Kind::kPart, {}};
    if (!first) {
        uint64_t length = std::min(*last, size);
        if (length == 0) return none;
        part.range = {size - length, length};
        return part;
    }
    if (last && *last < *first) return whole;
    if (*first >= size) return none;
    uint64_t end = last ? std::min(*last, size - 1) : size - 1;
    part.range = {*first, end - *first + 1};
    return part;
}

std::string content_range(const ByteRange& range, uint64_t size) {
    return fmt::format("bytes {}-{}/{}", range.first, range.first + range.length - 1, size);
}

std::string content_range_unsatisfied(uint64_t size) { return fmt::format("bytes */{}", size); }

}  // namespace http
