#include "service/dvr/naming.h"

#include <fmt/format.h>

#include <vector>

#include "config/path_variables.h"

namespace service::dvr {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr size_t kLongestName = 240;  // of 255, leaving room for "-99999" and ".tmp"
constexpr size_t kLongestPath = 3800;

std::vector<std::string_view> parts_of(std::string_view path) {
    std::vector<std::string_view> parts;
    while (true) {
        size_t slash = path.find('/');
        parts.push_back(path.substr(0, slash));
        if (slash == path.npos) return parts;
        path.remove_prefix(slash + 1);
    }
}

Result<void> check_part(std::string_view what, std::string_view name) {
    if (name.size() > kLongestName) return fail(Code::kRefused, fmt::format("{} of {} bytes", what, name.size()));
    std::string safe = config::safe_part(name);
    if (safe == name) return {};
    return fail(Code::kRefused, fmt::format("{} cannot be a file's name: it would have to be '{}'", what, safe));
}

}  // namespace

Format format_of(std::string_view path) { return path.ends_with(".mp4") ? Format::kMp4 : Format::kFlv; }

std::string root_of(std::string_view pattern) {
    size_t end = pattern.substr(0, pattern.find('[')).rfind('/');
    if (end == pattern.npos) return ".";
    return std::string(pattern.substr(0, end == 0 ? 1 : end));
}

bool is_below(std::string_view path, std::string_view root) {
    for (std::string_view part : parts_of(path))
        if (part == "..") return false;
    if (root == ".") return !path.starts_with('/');
    if (!path.starts_with(root)) return false;
    return root.ends_with('/') || path.substr(root.size()).starts_with('/');
}

Result<void> check_names(const live::StreamKey& key) {
    TRY(check_part("the stream's name", key.name));
    for (std::string_view part : parts_of(key.app)) TRY(check_part("the application's name", part));
    return {};
}

Result<std::string> recording_path(const std::string& pattern, const live::StreamKey& key, int64_t wall_ms, bool utc,
                                   uint64_t sequence) {
    TRY(check_names(key));
    config::PathVariables variables;
    variables.set("vhost", config::safe_part(key.vhost)).set("app", key.app).set("stream", key.name);
    variables.set("seq", std::to_string(sequence)).set_time(wall_ms, utc);
    std::string path = variables.expand(pattern);
    size_t longest = 0;
    for (std::string_view part : parts_of(path)) longest = std::max(longest, part.size());
    if (longest > kLongestName || path.size() > kLongestPath)
        return fail(Code::kRefused, fmt::format("the file's name would be too long: {} bytes of path, {} of a part",
                                                path.size(), longest));
    return path;
}

std::string numbered(const std::string& path, int number) {
    if (number == 0) return path;
    size_t dot = path.rfind('.');
    return fmt::format("{}-{}{}", path.substr(0, dot), number, path.substr(dot));
}

}  // namespace service::dvr
