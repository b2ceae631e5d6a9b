#include "protocol/http/headers.h"

#include <algorithm>

#include "base/ascii.h"

namespace http {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return base::lower(x) == base::lower(y); });
}

std::string_view trim(std::string_view text) {
    size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool list_has(std::string_view list, std::string_view token) {
    while (true) {
        size_t comma = list.find(',');
        if (equal_ignoring_case(trim(list.substr(0, comma)), token)) return true;
        if (comma == std::string_view::npos) return false;
        list.remove_prefix(comma + 1);
    }
}

void Headers::add(std::string name, std::string value) {
    if (fields_.empty()) fields_.reserve(kUsual);
    fields_.emplace_back(std::move(name), std::move(value));
}

void Headers::set(std::string_view name, std::string value) {
    std::erase_if(fields_, [&](const auto& field) { return equal_ignoring_case(field.first, name); });
    add(std::string(name), std::move(value));
}

void Headers::trim_values() {
    for (auto& [name, value] : fields_)
        if (const std::string_view trimmed = trim(value); trimmed.size() < value.size()) value = std::string(trimmed);
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
    for (auto& [field, value] : fields_)
        if (equal_ignoring_case(field, name)) return value;
    return std::nullopt;
}

size_t Headers::count(std::string_view name) const {
    return static_cast<size_t>(std::count_if(
        fields_.begin(), fields_.end(), [&](const auto& field) { return equal_ignoring_case(field.first, name); }));
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
    return std::any_of(fields_.begin(), fields_.end(), [&](const auto& field) {
        return equal_ignoring_case(field.first, name) && list_has(field.second, token);
    });
}

}  // namespace http
