#include "protocol/http/timestamp.h"

#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <cmath>

namespace http {

namespace {

// Takes `count` digits and what is behind them; -1: they are not there. '\0' stands for anything.
int take(std::string_view& text, size_t count, char behind) {
    if (text.size() < count + (behind ? 1 : 0)) return -1;
    int value = 0;
    for (size_t i = 0; i < count; ++i) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    if (behind && text[count] != behind) return -1;
    text.remove_prefix(count + (behind ? 1 : 0));
    return value;
}

// Of a fraction of a second; further decimals are cut off.
std::optional<int> take_ms(std::string_view& text) {
    if (!text.starts_with('.')) return 0;
    text.remove_prefix(1);
    int ms = 0, scale = 100;
    size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits, scale /= 10)
        ms += (text[digits] - '0') * scale;
    text.remove_prefix(digits);
    return digits > 0 ? std::optional(ms) : std::nullopt;
}

// "Z", "+01:00".
std::optional<std::chrono::minutes> offset(std::string_view text) {
    if (text == "Z" || text == "z") return std::chrono::minutes(0);
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-' && text[0] != ' ')) return std::nullopt;
    const int sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
    const int hours = take(text, 2, ':'), minutes = take(text, 2, '\0');
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
    return sign * (std::chrono::hours(hours) + std::chrono::minutes(minutes));
}

}  // namespace

std::optional<int64_t> parse_timestamp(std::string_view text) {
    const int year = take(text, 4, '-'), month = take(text, 2, '-'), day = take(text, 2, 'T');
    const int hours = take(text, 2, ':'), minutes = take(text, 2, ':'), seconds = take(text, 2, '\0');
    if (year < 1970 || month < 0 || day < 0 || hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 ||
        seconds > 60)
        return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    const auto ms = take_ms(text);
    const auto east = offset(text);
    if (!date.ok() || !ms || !east) return std::nullopt;
    const std::chrono::milliseconds clock = std::chrono::hours(hours) + std::chrono::minutes(minutes) - *east +
                                            std::chrono::seconds(seconds) + std::chrono::milliseconds(*ms);
    return (std::chrono::sys_days(date).time_since_epoch() + clock).count();
}

std::string format_timestamp(int64_t unix_ms) {
    const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(unix_ms)};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

namespace {

std::optional<int64_t> time_of(std::string_view text, int64_t now_ms) {
    constexpr double kMaxSeconds = 1e11;
    if (text.find('T') != text.npos) return parse_timestamp(text);
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || !(std::abs(seconds) < kMaxSeconds))
        return std::nullopt;
    const auto ms = std::llround(seconds * 1'000);
    return text.starts_with('-') ? now_ms + ms : ms;
}

}  // namespace

base::Result<TimeRange> time_range(const Parameters& parameters, int64_t now_ms) {
    const auto from = find_parameter(parameters, "from"), to = find_parameter(parameters, "to");
    const auto from_ms = from ? time_of(*from, now_ms) : std::nullopt;
    const auto to_ms = to && !to->empty() ? time_of(*to, now_ms) : now_ms;
    if (!from_ms || !to_ms)
        return base::fail(base::Code::kProtocol,
                          "from and to are times: 2026-01-31T23:59:59Z, seconds since 1970, or -60 for a minute ago");
    if (*from_ms >= *to_ms) return base::fail(base::Code::kProtocol, "from is not before to");
    return TimeRange{*from_ms, *to_ms};
}

}  // namespace http
