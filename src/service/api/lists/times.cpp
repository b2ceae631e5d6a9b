#include "service/api/lists/times.h"

#include <array>
#include <charconv>
#include <ctime>
#include <string>

namespace service::api {

namespace {

constexpr int64_t kMaxMs = int64_t{253'402'300'800} * 1000;  // the year 10000

std::optional<int64_t> whole_number(std::string_view text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
    return value;
}

std::optional<int64_t> time_ago(std::string_view text, int64_t now_ms) {
    constexpr std::string_view kUnits = "smhd";
    constexpr std::array<int64_t, 4> kMs = {1000, 60'000, 3'600'000, 86'400'000};
    const size_t unit = kUnits.find(text.back());
    const auto count = whole_number(text.substr(1, text.size() - 2));
    if (unit == kUnits.npos || !count || *count > 1'000'000) return std::nullopt;
    return now_ms - *count * kMs[unit];
}

}  // namespace

std::optional<int64_t> parse_time(std::string_view text, int64_t now_ms) {
    constexpr int64_t kLeastMs = 100'000'000'000;
    if (text.size() > 2 && text.front() == '-') return time_ago(text, now_ms);
    if (const auto number = whole_number(text)) {
        if (*number > kMaxMs) return std::nullopt;
        return *number > kLeastMs ? *number : *number * 1000;
    }
    const bool utc = text.ends_with('Z');
    if (utc) text.remove_suffix(1);
    const std::string words(text);
    for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
        tm at{};
        const char* const rest = strptime(words.c_str(), format, &at);
        if (!rest || *rest != '\0' || rest != words.data() + words.size() || at.tm_year < 70) continue;
        at.tm_isdst = -1;
        return int64_t{utc ? timegm(&at) : mktime(&at)} * 1000;
    }
    return std::nullopt;
}

std::optional<int> parse_day(std::string_view text) {
    std::string digits;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool is_dash = text.size() == 10 && (i == 4 || i == 7);
        if (is_dash != (text[i] == '-')) return std::nullopt;
        if (!is_dash) digits += text[i];
    }
    const auto number = digits.size() == 8 ? whole_number(digits) : std::nullopt;
    if (!number || *number / 100 % 100 < 1 || *number / 100 % 100 > 12 || *number % 100 < 1 || *number % 100 > 31)
        return std::nullopt;
    return static_cast<int>(*number);
}

}  // namespace service::api
