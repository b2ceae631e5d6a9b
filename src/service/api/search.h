#pragma once
// ?search= and ?sort= of lists: which entries match a text, and which of these are on a page, in which order. Pure.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/api/endpoint.h"
#include "service/api/listing.h"

namespace service::api {

// ASCII letters only; other characters are left as they are.
std::string lower_case(std::string_view text);

// Part of a text, without regard to the case of ASCII letters. An empty search matches everything.
class Search {
  public:
    explicit Search(std::string_view text) : text_(lower_case(text)) {}
    bool empty() const { return text_.empty(); }
    // text: in lower case.
    bool matches(std::string_view text) const { return text.find(text_) != text.npos; }

  private:
    std::string text_;
};

struct Order {
    size_t column = 0;  // index of the column
    bool descending = false;
};

struct SortParameter {
    bool valid = true;             // false: no such column
    std::optional<Order> order{};  // nothing: it was not given
};
// "clients", "-clients" for descending; nothing: the parameter is absent.
SortParameter parse_sort(std::optional<std::string_view> parameter, std::span<const std::string_view> columns);

// The parameters' entries for the route table.
Parameter search_parameter(const char* doc);
Parameter sort_parameter(std::span<const std::string_view> columns);

// Replaces `entries` by those on the page, in order. less(a, b) orders entries; those that are equal keep their order.
// It takes time in proportion to the number of entries, not more where the page is far behind.
template <class Less>
void cut_page(std::vector<uint32_t>& entries, const Page& page, bool descending, const Less& less) {
    const auto before = [&](uint32_t a, uint32_t b) {
        if (descending ? less(b, a) : less(a, b)) return true;
        if (descending ? less(a, b) : less(b, a)) return false;
        return a < b;
    };
    const auto begin = entries.begin() + static_cast<ptrdiff_t>(std::min(page.start, entries.size()));
    const auto end =
        begin + static_cast<ptrdiff_t>(std::min<size_t>(page.count, static_cast<size_t>(entries.end() - begin)));
    if (begin != entries.end()) std::nth_element(entries.begin(), begin, entries.end(), before);
    if (end != entries.end()) std::nth_element(begin, end, entries.end(), before);
    std::sort(begin, end, before);
    entries.erase(end, entries.end());
    entries.erase(entries.begin(), begin);
}

}  // namespace service::api
