#include "protocol/http/date.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "protocol/http/headers.h"

namespace http {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr int64_t kFirst = -62167219200;  // 0000-01-01
constexpr int64_t kLast = 253402300799;   // 9999-12-31 23:59:59

int two_digits(std::string_view text, size_t at) {
    if (at + 2 > text.size()) return -1;
    char high = text[at] == ' ' ? '0' : text[at];  // asctime pads the day with a space
    char low = text[at + 1];
    if (high < '0' || high > '9' || low < '0' || low > '9') return -1;
    return (high - '0') * 10 + low - '0';
}

int month_number(std::string_view text) {
    for (size_t i = 0; i < kMonths.size(); ++i)
        if (kMonths[i] == text) return static_cast<int>(i) + 1;
    return -1;
}

std::optional<int64_t> seconds(int year, int month, int day, std::string_view clock) {
    if (clock.size() != 8 || clock[2] != ':' || clock[5] != ':') return std::nullopt;
    int hour = two_digits(clock, 0), minute = two_digits(clock, 3), second = two_digits(clock, 6);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return std::nullopt;
    std::chrono::year_month_day date{std::chrono::year(year),
                                     std::chrono::month(static_cast<unsigned>(std::max(month, 0))),
                                     std::chrono::day(static_cast<unsigned>(std::max(day, 0)))};
    if (!date.ok()) return std::nullopt;
    int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

int year_number(std::string_view text, size_t at) {
    int century = two_digits(text, at), rest = two_digits(text, at + 2);
    return century < 0 || rest < 0 ? -1 : century * 100 + rest;
}

}  // namespace

std::string format_date(int64_t unix_seconds) {
    unix_seconds = std::clamp(unix_seconds, kFirst, kLast);
    std::chrono::sys_seconds time{std::chrono::seconds(unix_seconds)};
    auto day = std::chrono::floor<std::chrono::days>(time);
    std::chrono::year_month_day date(day);
    int64_t clock = (time - day).count();
    return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[std::chrono::weekday(day).c_encoding()],
                       static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
                       static_cast<int>(date.year()), clock / 3600, clock / 60 % 60, clock % 60);
}

std::optional<int64_t> parse_date(std::string_view text) {
    text = trim(text);
    size_t comma = text.find(',');
    if (comma == 3 && text.size() == 29 && text.ends_with(" GMT")) {  // Sun, 06 Nov 1994 08:49:37 GMT
        int year = year_number(text, 12);
        if (year < 0) return std::nullopt;
        return seconds(year, month_number(text.substr(8, 3)), two_digits(text, 5), text.substr(17, 8));
    }
    if (comma != std::string_view::npos) {  // Sunday, 06-Nov-94 08:49:37 GMT
        text.remove_prefix(comma + 1);
        if (text.size() != 23 || text[3] != '-' || text[7] != '-' || !text.ends_with(" GMT")) return std::nullopt;
        int year = two_digits(text, 8);
        if (year < 0) return std::nullopt;
        // There is no clock here to choose the nearest century; servers that send this form did so before 2070.
        year += year < 70 ? 2000 : 1900;
        return seconds(year, month_number(text.substr(4, 3)), two_digits(text, 1), text.substr(11, 8));
    }
    if (text.size() == 24) {  // Sun Nov  6 08:49:37 1994
        int year = year_number(text, 20);
        if (year < 0) return std::nullopt;
        return seconds(year, month_number(text.substr(4, 3)), two_digits(text, 8), text.substr(11, 8));
    }
    return std::nullopt;
}

}  // namespace http
