#include "base/redaction.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace base {

namespace {

constexpr std::string_view kWordEnds = " \t\r\n\"\\";
constexpr std::string_view kPunctuation = "'`),:;.>]}";
constexpr std::array<std::string_view, 6> kSecretNames = {"password", "passwd", "pwd", "token", "secret", "passphrase"};

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char one, char other) { return lower(one) == lower(other); });
}

// The word that begins there, without the punctuation behind it.
std::string_view word_at(std::string_view text, size_t at, std::string_view ends) {
    std::string_view word = text.substr(at, text.find_first_of(ends, at) - at);
    const size_t last = word.find_last_not_of(kPunctuation);
    return word.substr(0, last == word.npos ? 0 : last + 1);
}

// The length of what begins a query at that position; 0: nothing does.
size_t query_mark(std::string_view text, size_t at) {
    size_t length = 0;
    if (text[at] == '?') length = 1;
    if (text[at] == '%' && text.size() > at + 2 && text[at + 1] == '3' && (text[at + 2] | 0x20) == 'f') length = 3;
    if (length > 0) return length;
    // Behind an ellipsis of prose there is a space, or nothing.
    const bool has_dots = text[at] == '.' && text.substr(at, 3) == "..." && at + 3 < text.size();
    return has_dots && at > 0 && is_alphanumeric(text[at - 1]) && is_alphanumeric(text[at + 3]) ? 3 : 0;
}

// Whether a '=' at that position is behind a secret's name.
bool is_behind_secret_name(std::string_view text, size_t at) {
    const std::string_view before = text.substr(0, at);
    return std::ranges::any_of(kSecretNames, [&](std::string_view name) {
        return before.size() >= name.size() && equal_ignoring_case(before.substr(before.size() - name.size()), name);
    });
}

// User and password of the URL whose "://" is before that position: up to the last @ of the host's part, because a
// password may have one that is not encoded.
std::string_view user_at(std::string_view text, size_t at) {
    const std::string_view authority = text.substr(at, text.find_first_of("/? \t\"\\", at) - at);
    const size_t end = authority.rfind('@');
    return authority.substr(0, end == authority.npos ? 0 : end);
}

// What begins with the character at that position.
std::string_view secret_behind(std::string_view text, size_t at) {
    switch (text[at]) {
        case ':':
            return text.substr(at, 3) == "://" ? user_at(text, at + 3) : std::string_view();
        case '=':
            return is_behind_secret_name(text, at) ? word_at(text, at + 1, " \t\r\n\"\\&/?") : std::string_view();
        default: {
            const size_t mark = query_mark(text, at);
            return mark > 0 ? word_at(text, at + mark, kWordEnds) : std::string_view();
        }
    }
}

// The next secret; empty: there is none.
std::string_view find_secret(std::string_view text, size_t from) {
    for (size_t at = text.find_first_of("?%.=:", from); at != text.npos; at = text.find_first_of("?%.=:", at + 1)) {
        const std::string_view secret = secret_behind(text, at);
        if (!secret.empty() && secret != kHidden) return secret;
    }
    return {};
}

}  // namespace

bool has_secrets(std::string_view text) { return !find_secret(text, 0).empty(); }

std::string redact(std::string_view text) {
    std::string out;
    size_t done = 0;
    for (std::string_view secret = find_secret(text, 0); !secret.empty(); secret = find_secret(text, done)) {
        const auto at = static_cast<size_t>(secret.data() - text.data());
        out.append(text.substr(done, at - done)).append(kHidden);
        done = at + secret.size();
    }
    return out.append(text.substr(done));
}

std::string hide_credentials(std::string_view text) {
    std::string out;
    while (true) {
        const size_t scheme = text.find("://");
        if (scheme == text.npos) return out.append(text);
        const std::string_view user = user_at(text, scheme + 3);
        out.append(text.substr(0, scheme + 3)).append(user.empty() ? "" : kHidden);
        text.remove_prefix(scheme + 3 + user.size());
    }
}

std::string bare_url(std::string_view url) {
    size_t end = std::min(url.find_first_of("?#"), url.size());
    for (size_t at = url.find_first_of("%."); at < end; at = url.find_first_of("%.", at + 1))
        if (query_mark(url, at) > 0) end = at;
    return redact(url.substr(0, end));
}

bool names_secret(std::string_view name) {
    return std::ranges::any_of(kSecretNames, [&](std::string_view word) {
        return std::search(name.begin(), name.end(), word.begin(), word.end()) != name.end();
    });
}

}  // namespace base
