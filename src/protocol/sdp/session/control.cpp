#include "protocol/sdp/session/control.h"

#include <algorithm>

#include "protocol/sdp/text.h"

namespace sdp {
namespace {

struct Parts {
    std::string_view scheme;     // "rtsp"
    std::string_view authority;  // with user and password
    std::string_view rest;       // path and query
};

Parts split(std::string_view url) {
    Parts parts;
    const size_t colon = url.find("://");
    if (colon == url.npos) {
        parts.rest = url;
        return parts;
    }
    parts.scheme = url.substr(0, colon);
    url.remove_prefix(colon + 3);
    const size_t end = std::min(url.find_first_of("/?"), url.size());
    parts.authority = url.substr(0, end);
    parts.rest = url.substr(end);
    return parts;
}

std::string_view host_of(std::string_view authority) {
    const size_t at = authority.rfind('@');
    return at == authority.npos ? authority : authority.substr(at + 1);
}

std::string_view without_default_port(const Parts& parts) {
    std::string_view host = host_of(parts.authority);
    const std::string_view port = same_word(parts.scheme, "rtsps") ? ":322" : ":554";
    if (host.ends_with(port)) host.remove_suffix(port.size());
    return host;
}

std::string_view without_slash(std::string_view path) {
    if (path.ends_with('/')) path.remove_suffix(1);
    return path;
}

bool is_rtsp(std::string_view scheme) {
    return same_word(scheme, "rtsp") || same_word(scheme, "rtsps") || same_word(scheme, "rtspu");
}

}  // namespace

std::string without_credentials(std::string_view url) {
    const Parts parts = split(url);
    if (parts.scheme.empty()) return std::string(url);
    std::string out(parts.scheme);
    out.append("://").append(host_of(parts.authority)).append(parts.rest);
    return out;
}

std::string resolve_control(std::string_view base, std::string_view control) {
    while (!control.empty() && control.front() == ' ') control.remove_prefix(1);
    while (!control.empty() && control.back() == ' ') control.remove_suffix(1);
    if (is_rtsp(split(control).scheme)) return without_credentials(control);
    std::string out = without_credentials(base);
    if (control.empty() || control == "*") return out;
    const std::string_view path = without_slash(split(base).rest);
    if (control.front() == '/' && path.size() > 1 && control.starts_with(path)) {
        // An absolute path, which begins as the base does.
        out.resize(out.size() - split(base).rest.size());
        return out.append(control);
    }
    if (control.front() == '/' && out.ends_with('/')) out.pop_back();
    if (control.front() != '/' && control.front() != '?' && !out.ends_with('/')) out += '/';
    return out.append(control);
}

bool same_url(std::string_view a, std::string_view b) {
    const Parts one = split(a), other = split(b);
    return same_word(one.scheme, other.scheme) && same_word(without_default_port(one), without_default_port(other)) &&
           without_slash(one.rest) == without_slash(other.rest);
}

bool same_path(std::string_view a, std::string_view b) {
    return without_slash(split(a).rest) == without_slash(split(b).rest);
}

}  // namespace sdp
