#pragma once
// Pieces of header values.

#include <charconv>
#include <optional>
#include <string_view>

namespace rtsp {

// The whole text as a number; nothing: it is none, or does not fit.
template <class T>
std::optional<T> number(std::string_view text, int radix = 10) {
    T value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, radix);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// The text up to the separator, trimmed; removes it and the separator from `rest`. A separator in quotes is none.
std::string_view take_until(std::string_view& rest, char separator);

}  // namespace rtsp
