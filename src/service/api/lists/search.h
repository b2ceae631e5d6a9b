#pragma once
// ?search= and ?sort= of lists: which entries match a text, and which of these are on a page, in which order. Pure.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "service/api/table/endpoint.h"
#include "service/api_answer.h"

namespace service::api {

// Part of a text, without regard to the case of ASCII letters. An empty search matches everything.
class Search {
  public:
    explicit Search(std::string_view text) : text_(base::lower(text)) {}
    bool matches(std::string_view text) const;
    // Any of them.
    bool matches(std::initializer_list<std::string_view> texts) const {
        return std::ranges::any_of(texts, [this](std::string_view text) { return matches(text); });
    }

  private:
    std::string text_;
};

// What a list may be sorted by.
template <class Row>
struct Column {
    std::string_view name;
    bool (*less)(const Row& a, const Row& b);
};

template <class Row>
std::vector<std::string_view> names_of(std::span<const Column<Row>> columns) {
    std::vector<std::string_view> names;
    for (const Column<Row>& column : columns) names.push_back(column.name);
    return names;
}

struct Order {
    size_t column = 0;  // index of the column
    bool descending = false;
};

struct SortParameter {
    bool valid = true;             // false: no such column
    std::optional<Order> order{};  // nothing: it was not given
};
// "clients", "-clients" for descending; nothing: the parameter is absent.
SortParameter parse_sort(std::optional<std::string_view> parameter, const std::vector<std::string_view>& columns);
// The text of an error.
std::string unknown_column(const std::vector<std::string_view>& columns);

// The parameters' entries for the route table.
Parameter search_parameter(const char* doc);
Parameter sort_parameter(const std::vector<std::string_view>& columns);

// Replaces `rows` by those on the page, in order. less(a, b) orders them; those that are equal keep their order. It
// takes time in proportion to the number of rows, not more where the page is far behind.
template <class Row, class Less>
void cut_page(std::vector<Row>& rows, const Page& page, const Less& less, bool descending) {
    std::vector<uint32_t> indexes(rows.size());
    std::iota(indexes.begin(), indexes.end(), 0u);
    const auto before = [&](uint32_t a, uint32_t b) {
        if (descending ? less(rows[b], rows[a]) : less(rows[a], rows[b])) return true;
        if (descending ? less(rows[a], rows[b]) : less(rows[b], rows[a])) return false;
        return a < b;
    };
    const auto begin = indexes.begin() + static_cast<ptrdiff_t>(std::min(page.start, indexes.size()));
    const auto end =
        begin + static_cast<ptrdiff_t>(std::min<size_t>(page.count, static_cast<size_t>(indexes.end() - begin)));
    if (begin != indexes.end()) std::nth_element(indexes.begin(), begin, indexes.end(), before);
    if (end != indexes.end()) std::nth_element(begin, end, indexes.end(), before);
    std::sort(begin, end, before);
    std::vector<Row> cut;
    for (auto index = begin; index != end; ++index) cut.push_back(std::move(rows[*index]));
    rows = std::move(cut);
}

}  // namespace service::api
