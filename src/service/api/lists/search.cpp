#include "service/api/lists/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace service::api {

bool Search::matches(std::string_view text) const {
    const auto is_same = [](char in_text, char in_search) { return base::lower(in_text) == in_search; };
    return !std::ranges::search(text, text_, is_same).empty() || text_.empty();
}

SortParameter parse_sort(std::optional<std::string_view> parameter, const std::vector<std::string_view>& columns) {
    if (!parameter) return {};
    std::string_view text = *parameter;
    const bool descending = text.starts_with('-');
    if (descending) text.remove_prefix(1);
    const auto found = std::ranges::find(columns, text);
    if (found == columns.end()) return {.valid = false};
    return {.order = Order{static_cast<size_t>(found - columns.begin()), descending}};
}

std::string unknown_column(const std::vector<std::string_view>& columns) {
    return fmt::format("sort is one of {}, or one of these with '-' before it", fmt::join(columns, ", "));
}

Parameter search_parameter(const char* doc) { return {Parameter::In::kQuery, "search", Parameter::Type::kText, doc}; }

Parameter sort_parameter(const std::vector<std::string_view>& columns) {
    Parameter out{Parameter::In::kQuery, "sort", Parameter::Type::kText, "the order; with '-' before it descending"};
    for (const std::string_view column : columns) {
        out.choices.emplace_back(column);
        out.choices.push_back("-" + std::string(column));
    }
    return out;
}

}  // namespace service::api
