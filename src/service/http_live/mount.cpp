#include "service/http_live/mount.h"

#include "protocol/http/headers.h"

namespace service::http_live {

namespace {

constexpr std::string_view kVhost = "[vhost]", kApp = "[app]", kStream = "[stream]";
constexpr size_t kMaxPath = 1024;  // limits the number of positions tried for [app]

std::optional<Format> format_of(std::string_view extension) {
    if (http::equal_ignoring_case(extension, ".flv")) return Format::kFlv;
    if (http::equal_ignoring_case(extension, ".aac")) return Format::kAac;
    if (http::equal_ignoring_case(extension, ".mp3")) return Format::kMp3;
    if (http::equal_ignoring_case(extension, ".ts")) return Format::kTs;
    return std::nullopt;
}

// The extension of the last segment, with its dot; empty if it has none or nothing before it.
std::string_view extension_of(std::string_view path) {
    size_t dot = path.rfind('.'), slash = path.rfind('/');
    if (dot == std::string_view::npos || dot == slash + 1 || (slash != std::string_view::npos && dot < slash))
        return {};
    return path.substr(dot);
}

bool match_from(std::string_view pattern, std::string_view path, MountMatch& out);

// The variable takes `longest` characters of the path, or as many fewer as are needed for the rest to match, but at
// least one.
bool match_variable(std::string_view rest, std::string_view path, size_t longest, std::string& value, MountMatch& out) {
    for (size_t n = longest; n > 0; --n) {
        if (!match_from(rest, path.substr(n), out)) continue;
        value = path.substr(0, n);
        return true;
    }
    return false;
}

bool match_from(std::string_view pattern, std::string_view path, MountMatch& out) {
    while (!pattern.empty()) {
        if (pattern.starts_with(kApp))
            return match_variable(pattern.substr(kApp.size()), path, path.size(), out.app, out);
        if (pattern.starts_with(kStream))
            return match_variable(pattern.substr(kStream.size()), path, std::min(path.find('/'), path.size()),
                                  out.stream, out);
        if (path.empty() || path[0] != pattern[0]) return false;
        pattern.remove_prefix(1);
        path.remove_prefix(1);
    }
    return path.empty();
}

}  // namespace

Mount::Mount(std::string_view text) {
    size_t slash = std::min(text.find('/'), text.size());
    std::string_view host = text.substr(0, slash);
    if (host != kVhost) host_ = host;
    pattern_ = text.substr(slash);
    pattern_.resize(pattern_.size() - extension_of(pattern_).size());
}

std::optional<MountMatch> Mount::match(std::string_view path) const {
    if (path.size() > kMaxPath || pattern_.find(kStream) == std::string::npos) return std::nullopt;
    std::string_view extension = extension_of(path);
    auto format = format_of(extension);
    if (!format) return std::nullopt;
    path.remove_suffix(extension.size());
    MountMatch out;
    out.format = *format;
    if (!match_from(pattern_, path, out)) return std::nullopt;
    if (out.app.empty()) {
        size_t slash = path.rfind('/');
        if (slash == 0 || slash == std::string_view::npos) return std::nullopt;
        out.app = path.substr(1, slash - 1);
    }
    return out;
}

}  // namespace service::http_live
