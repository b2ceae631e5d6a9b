#include "protocol/http/url.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/ascii.h"
#include "base/authority.h"
#include "protocol/http/headers.h"

namespace http {

using base::Code;
using base::fail;
using base::is_control;

namespace {

constexpr size_t kMaxParameters = 64;

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// The value of the escape at position i; -1: not a valid escape.
int escape_at(std::string_view text, size_t i) {
    if (i + 2 >= text.size()) return -1;
    int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// Decodes valid escapes and leaves the rest unchanged.
std::string decode_leniently(std::string_view text, bool plus_is_space) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        int byte = text[i] == '%' ? escape_at(text, i) : -1;
        if (byte >= 0) {
            out.push_back(static_cast<char>(byte));
            i += 2;
        } else {
            out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
        }
    }
    return out;
}

bool has_parent_segment(std::string_view path) {
    size_t start = 0;
    while (start <= path.size()) {
        size_t end = std::min(path.find_first_of("/\\", start), path.size());
        if (path.substr(start, end - start) == "..") return true;
        start = end + 1;
    }
    return false;
}

// Nothing to decode, to remove or to refuse: safe_path() returns it as it is. So are the paths of nearly all requests.
bool is_plain_path(std::string_view path) {
    char before = 0;
    for (char c : path) {
        if (c == '%' || c == '\\' || is_control(c) || (before == '/' && (c == '/' || c == '.'))) return false;
        before = c;
    }
    return path.starts_with('/');
}

// What a host consists of (RFC 3986, section 3.2.2).
bool is_host_character(char c) {
    static constexpr std::array<bool, 256> kTable = [] {
        std::array<bool, 256> table{};
        for (std::string_view all :
             {"0123456789abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "-._~!$&'()*+,;=:%"})
            for (char each : all) table[static_cast<uint8_t>(each)] = true;
        return table;
    }();
    return kTable[static_cast<uint8_t>(c)];
}

}  // namespace

base::Result<std::string> percent_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        int byte = escape_at(text, i);
        if (byte < 0) return fail(Code::kProtocol, "malformed percent-encoding");
        if (byte == 0) return fail(Code::kProtocol, "percent-encoded NUL");
        out.push_back(static_cast<char>(byte));
        i += 2;
    }
    return out;
}

std::string percent_encode(std::string_view text, std::string_view keep) {
    static constexpr char kHex[] = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (char c : text) {
        auto byte = static_cast<uint8_t>(c);
        bool plain = (byte < 0x80 && std::isalnum(byte)) || std::string_view("-._~").find(c) != std::string_view::npos;
        if (plain || keep.find(c) != std::string_view::npos) {
            out.push_back(c);
        } else {
            out.push_back('%');
            out.push_back(kHex[byte >> 4]);
            out.push_back(kHex[byte & 15]);
        }
    }
    return out;
}

base::Result<std::string> safe_path(std::string_view raw_path) {
    if (is_plain_path(raw_path)) return std::string(raw_path);
    std::string decoded = TRY(percent_decode(raw_path));
    if (decoded.empty() || decoded[0] != '/') return fail(Code::kProtocol, "the path does not start with /");
    if (std::ranges::any_of(decoded, is_control)) return fail(Code::kProtocol, "control character in the path");
    // Decoded once more for this check only: a path that is forwarded and decoded again must not become a traversal.
    if (has_parent_segment(decoded) || has_parent_segment(decode_leniently(decoded, false)))
        return fail(Code::kProtocol, "path traversal");
    std::string out;
    out.reserve(decoded.size());
    for (size_t start = 1; start <= decoded.size();) {
        size_t end = std::min(decoded.find('/', start), decoded.size());
        std::string_view segment = std::string_view(decoded).substr(start, end - start);
        if (!segment.empty() && segment != ".") out.append("/").append(segment);
        // "/a/" and "/a/." both name a directory.
        if (end == decoded.size() && (segment.empty() || segment == ".")) out.append("/");
        start = end + 1;
    }
    return out;
}

Parameters parse_query(std::string_view query) {
    Parameters out;
    while (!query.empty() && out.size() < kMaxParameters) {
        size_t end = std::min(query.find('&'), query.size());
        std::string_view part = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        if (part.empty()) continue;
        size_t equals = std::min(part.find('='), part.size());
        std::string_view value = part.substr(std::min(equals + 1, part.size()));
        out.emplace_back(decode_leniently(part.substr(0, equals), true), decode_leniently(value, true));
    }
    return out;
}

std::optional<std::string_view> find_parameter(const Parameters& parameters, std::string_view name) {
    for (auto& [key, value] : parameters)
        if (key == name) return value;
    return std::nullopt;
}

std::string without_parameters(std::string_view query, std::span<const std::string_view> names) {
    return without_parameters(query,
                              [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); });
}

std::string without_parameters(std::string_view query, const std::function<bool(std::string_view name)>& leaves_out) {
    std::string kept;
    while (!query.empty()) {
        const std::string_view part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(part.size() + 1, query.size()));
        const std::string name = decode_leniently(part.substr(0, part.find('=')), true);
        if (part.empty() || std::ranges::any_of(name, is_control) || leaves_out(name)) continue;
        if (!kept.empty()) kept += '&';
        kept += part;
    }
    return kept;
}

base::Result<Target> split_target(std::string_view text) {
    Target target;
    if (text == "*") {
        target.path = text;
        return target;
    }
    text = text.substr(0, text.find('#'));
    size_t scheme_end = text.find("://");
    if (!text.starts_with('/')) {
        bool known = scheme_end != std::string_view::npos && (equal_ignoring_case(text.substr(0, scheme_end), "http") ||
                                                              equal_ignoring_case(text.substr(0, scheme_end), "https"));
        if (!known) return fail(Code::kProtocol, "the request target is neither a path nor an http URL");
        text.remove_prefix(scheme_end + 3);
        size_t end = std::min(text.find_first_of("/?"), text.size());
        target.authority = text.substr(0, end);
        if (target.authority.empty()) return fail(Code::kProtocol, "URL without a host");
        text.remove_prefix(end);
    }
    size_t question = std::min(text.find('?'), text.size());
    target.path = question == 0 ? std::string_view("/") : text.substr(0, question);
    target.query = text.substr(std::min(question + 1, text.size()));
    return target;
}

base::Result<HostPort> parse_host(std::string_view text) {
    const base::Authority authority = TRY(base::split_authority(text));
    const bool has_user = text.find('@') != text.npos;
    if (has_user || !std::ranges::all_of(authority.host, is_host_character))
        return fail(Code::kProtocol, "malformed host");
    return HostPort{base::lower(authority.host), authority.port.value_or(0)};
}

base::Result<AbsoluteUrl> parse_absolute_url(std::string_view text) {
    if (std::ranges::any_of(text, [](char c) { return c == ' ' || is_control(c); }))
        return fail(Code::kConfig, "a space or control character in the URL");
    AbsoluteUrl url;
    size_t scheme = std::min(text.find("://"), text.size());
    url.tls = equal_ignoring_case(text.substr(0, scheme), "https");
    if (!url.tls && !equal_ignoring_case(text.substr(0, scheme), "http"))
        return fail(Code::kConfig, "the URL is neither http:// nor https://");
    auto target = split_target(text);
    if (!target) return fail(Code::kConfig, target.error().text());
    auto host = parse_host(target->authority);
    if (!host || host->host.empty()) return fail(Code::kConfig, "the URL has no valid host");
    uint16_t usual = url.tls ? 443 : 80;
    url.host = std::move(host->host);
    url.port = host->port ? host->port : usual;
    bool v6 = url.host.find(':') != std::string::npos;
    url.authority = v6 ? "[" + url.host + "]" : url.host;
    if (url.port != usual) url.authority += ":" + std::to_string(url.port);
    url.target = target->path;
    if (!target->query.empty()) url.target.append("?").append(target->query);
    return url;
}

std::string_view directory_of(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == path.npos ? std::string_view() : path.substr(0, slash + 1);
}

std::string relative_reference(std::string_view from, std::string_view path) {
    std::string_view directory = directory_of(from);
    std::string up;
    while (!directory.empty() && !path.starts_with(directory)) {
        directory = directory_of(directory.substr(0, directory.size() - 1));
        up += "../";
    }
    return up + percent_encode(path.substr(directory.size()));
}

}  // namespace http
