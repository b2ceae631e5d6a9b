#include "service/api/lists/natural_order.h"

#include <algorithm>

#include "base/ascii.h"

namespace service::api {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits from the front of the text, without leading zeros. They may be more than a number has.
std::string_view take_number(std::string_view& text) {
    const size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
    std::string_view number = text.substr(0, size);
    text.remove_prefix(size);
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}

// Below 0: a is first; 0: they are alike.
int compare(std::string_view a, std::string_view b) {
    while (!a.empty() && !b.empty()) {
        if (is_digit(a.front()) && is_digit(b.front())) {
            const std::string_view x = take_number(a), y = take_number(b);
            if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
            if (const int order = x.compare(y)) return order;
            continue;
        }
        const auto x = static_cast<unsigned char>(base::lower(a.front()));
        const auto y = static_cast<unsigned char>(base::lower(b.front()));
        if (x != y) return x < y ? -1 : 1;
        a.remove_prefix(1);
        b.remove_prefix(1);
    }
    return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a < b;
}

}  // namespace service::api
