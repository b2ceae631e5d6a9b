#include "service/api/search.h"

namespace service::api {

std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

SortParameter parse_sort(std::optional<std::string_view> parameter, std::span<const std::string_view> columns) {
    if (!parameter) return {};
    std::string_view text = *parameter;
    const bool descending = text.starts_with('-');
    if (descending) text.remove_prefix(1);
    const auto found = std::ranges::find(columns, text);
    if (found == columns.end()) return {.valid = false};
    return {.order = Order{static_cast<size_t>(found - columns.begin()), descending}};
}

Parameter search_parameter(const char* doc) { return {Parameter::In::kQuery, "search", Parameter::Type::kText, doc}; }

Parameter sort_parameter(std::span<const std::string_view> columns) {
    Parameter out{Parameter::In::kQuery, "sort", Parameter::Type::kText, "the order; with '-' before it descending"};
    for (const std::string_view column : columns) {
        out.choices.emplace_back(column);
        out.choices.push_back("-" + std::string(column));
    }
    return out;
}

}  // namespace service::api
