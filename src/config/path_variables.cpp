#include "config/path_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace config {

PathVariables& PathVariables::set(std::string_view name, std::string_view value) {
    for (auto& [known, old] : values_) {
        if (known == name) {
            old = value;
            return *this;
        }
    }
    values_.emplace_back(name, value);
    return *this;
}

PathVariables& PathVariables::set_time(int64_t wall_ms, bool utc) {
    const auto seconds = static_cast<time_t>(wall_ms / 1000);
    std::tm time{};
    utc ? gmtime_r(&seconds, &time) : localtime_r(&seconds, &time);
    set("2006", fmt::format("{:04}", time.tm_year + 1900));
    set("01", fmt::format("{:02}", time.tm_mon + 1));
    set("02", fmt::format("{:02}", time.tm_mday));
    set("15", fmt::format("{:02}", time.tm_hour));
    set("04", fmt::format("{:02}", time.tm_min));
    set("05", fmt::format("{:02}", time.tm_sec));
    set("999", fmt::format("{:03}", wall_ms % 1000));
    return set("timestamp", std::to_string(wall_ms));
}

std::string PathVariables::expand(std::string_view pattern) const {
    std::string out;
    while (!pattern.empty()) {
        size_t open = pattern.find('[');
        out += pattern.substr(0, open);
        if (open == pattern.npos) break;
        pattern.remove_prefix(open);
        size_t used = 1;
        std::string_view text = pattern.substr(0, 1);
        for (const auto& [name, value] : values_) {
            if (pattern.substr(1).starts_with(name) && pattern.substr(1 + name.size()).starts_with(']')) {
                used = name.size() + 2;
                text = value;
                break;
            }
        }
        out += text;
        pattern.remove_prefix(used);
    }
    return out;
}

std::string_view unknown_variable(std::string_view pattern, std::span<const std::string_view> names) {
    constexpr std::string_view kTime[] = {"2006", "01", "02", "15", "04", "05", "999", "timestamp"};
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    for (size_t open = pattern.find('['); open != pattern.npos; open = pattern.find('[', open + 1)) {
        const size_t end = std::min(pattern.find_first_not_of(kLetters, open + 1), pattern.size());
        if (end == pattern.size() || pattern[end] != ']' || end == open + 1) continue;
        const std::string_view name = pattern.substr(open + 1, end - open - 1);
        if (std::ranges::find(names, name) == names.end() && std::ranges::find(kTime, name) == std::end(kTime))
            return pattern.substr(open, end - open + 1);
    }
    return {};
}

std::string safe_part(std::string_view name) {
    std::string out;
    for (char c : name) out += c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '_' : c;
    if (out.empty() || out == ".") return "_";
    if (out == "..") return "__";
    return out;
}

}  // namespace config
