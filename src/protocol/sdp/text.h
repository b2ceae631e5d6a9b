#pragma once
// Words and numbers in SDP values.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sdp {

// Removes the next word, up to `separator`, from the front and returns it; empty at the end.
inline std::string_view take_word(std::string_view& rest, char separator = ' ') {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    size_t end = rest.find(separator);
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    return word;
}

template <class T>
std::optional<T> number(std::string_view text, uint64_t most) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
    return static_cast<T>(value);
}

inline bool same_word(std::string_view a, std::string_view b) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}

}  // namespace sdp
