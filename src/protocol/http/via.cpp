#include "protocol/http/via.h"

#include <algorithm>

namespace http {
namespace {

constexpr bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
}

// The part up to the separator, which is removed from the rest.
std::string_view take_part(std::string_view& rest, char separator) {
    const std::string_view part = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
}

}  // namespace

std::string path_of_via(std::string_view via) {
    std::string path;
    while (!via.empty()) {
        std::string_view part = take_part(via, ',');
        while (part.starts_with(' ') || part.starts_with('\t')) part.remove_prefix(1);
        (void)take_part(part, ' ');  // the protocol
        std::string name;
        for (const char c : part.substr(0, part.find(' ')))
            if (is_name(c)) name += c;
        if (name.empty() || path.size() + name.size() + 1 > kMaxViaPath) continue;
        path += (path.empty() ? "" : ",") + name;
    }
    return path;
}

std::string via_of_path(std::string_view path, std::string_view protocol) {
    std::string via;
    while (!path.empty()) {
        const std::string_view name = take_part(path, ',');
        if (name.empty()) continue;
        if (!via.empty()) via += ", ";
        via.append(protocol).append(" ").append(name);
    }
    return via;
}

bool has_passed(std::string_view path, std::string_view server) {
    while (!path.empty())
        if (take_part(path, ',') == server) return true;
    return false;
}

}  // namespace http
