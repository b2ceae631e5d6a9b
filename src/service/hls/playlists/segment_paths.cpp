#include "service/hls/playlists/segment_paths.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "config/path_match.h"
#include "config/path_variables.h"
#include "protocol/http/url.h"
#include "service/hls/config.h"
#include "service/hls/dash/config.h"

namespace service::hls {

namespace {

using base::Code;
using base::fail;

base::Result<void> check_part(std::string_view what, std::string_view name) {
    if (name.empty()) return fail(Code::kRefused, fmt::format("{} is empty", what));
    if (name.size() > SegmentPaths::kMaxNameBytes)
        return fail(Code::kRefused,
                    fmt::format("{} has {} bytes, more than {}", what, name.size(), SegmentPaths::kMaxNameBytes));
    if (name == "." || name == "..") return fail(Code::kRefused, fmt::format("{} is '{}'", what, name));
    for (char c : name) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            return fail(Code::kRefused, fmt::format("{} has a control character", what));
        if (c == '/' || c == '\\') return fail(Code::kRefused, fmt::format("{} has a '{}'", what, c));
    }
    return {};
}

// An app may have several components: "live/sub".
base::Result<void> check_app(std::string_view app) {
    while (true) {
        size_t slash = app.find('/');
        TRY(check_part("the app's name", app.substr(0, slash)));
        if (slash == app.npos) return {};
        app.remove_prefix(slash + 1);
    }
}

bool is_safe(std::string_view path) {
    if (path.empty() || path.size() > SegmentPaths::kMaxPathBytes || path.starts_with('/')) return false;
    std::string framed = fmt::format("/{}/", path);
    return framed.find("/../") == std::string::npos && framed.find('\0') == std::string::npos;
}

std::string_view name_of(std::string_view path) { return path.substr(http::directory_of(path).size()); }

constexpr std::string_view kAudioSuffix = "~audio", kVideoSuffix = "~video", kMasterSuffix = "~master",
                           kPartSuffix = "~p";

// Before the extension; the last dot of a path's last part begins it.
std::string with_suffix(std::string_view path, std::string_view suffix) {
    size_t dot = path.rfind('.');
    if (dot == path.npos || dot <= http::directory_of(path).size()) dot = path.size();
    return fmt::format("{}{}{}", path.substr(0, dot), suffix, path.substr(dot));
}

// The URL that paths are put behind, and the query behind them: "?key=1", or empty.
std::pair<std::string_view, std::string_view> split_query(std::string_view prefix) {
    const size_t query = std::min(prefix.find('?'), prefix.size());
    return {prefix.substr(0, query), prefix.substr(query)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_slashes(std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    return path;
}

}  // namespace

bool is_part(std::string_view path) {
    const std::string text = base::lower(name_of(path));
    size_t end = text.rfind(kPartSuffix);
    if (end == text.npos) return false;
    end += kPartSuffix.size();
    const size_t number = end;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end > number && (end == text.size() || text[end] == '.') && text.find('.', end + 1) == text.npos;
}

std::string without_suffix(std::string_view path) {
    const std::string text = base::lower(path);
    const size_t begin = text.rfind('~');
    if (begin == text.npos || begin < http::directory_of(path).size()) return std::string(path);
    const auto has = [&](std::string_view suffix) { return text.compare(begin, suffix.size(), suffix) == 0; };
    size_t end = begin;
    if (has(kMasterSuffix)) {
        end = begin + kMasterSuffix.size();
    } else if (has(kVideoSuffix)) {
        end = begin + kVideoSuffix.size();
    } else if (has(kAudioSuffix)) {
        end = begin + kAudioSuffix.size();
        const size_t number = end;
        while (end < text.size() && is_digit(text[end])) ++end;
        if (end == number) return std::string(path);
    }
    // What follows is the extension, or nothing.
    const bool is_suffix =
        end > begin && (end == text.size() || text[end] == '.') && text.find('.', end + 1) == text.npos;
    return is_suffix ? std::string(path.substr(0, begin)).append(path.substr(end)) : std::string(path);
}

base::Result<SegmentPaths> SegmentPaths::make(const VhostConfig& hls, const live::StreamKey& key, bool utc) {
    TRY(check_part("the stream's name", key.name));
    TRY(check_app(key.app));
    TRY(check_part("the vhost's name", key.vhost));
    SegmentPaths names;
    names.key_ = key;
    names.segment_pattern_ = hls.use_fmp4 ? hls.fmp4_file : hls.ts_file;
    names.init_pattern_ = hls.init_file;
    names.key_pattern_ = hls.key_file.empty() ? "[app]/[stream]-[seq].key" : hls.key_file;
    names.entry_prefix_ = hls.entry_prefix;
    names.key_url_ = hls.key_url;
    names.extension_ = hls.use_fmp4 ? ".m4s" : ".ts";
    names.utc_ = utc;
    if (hls.ts_floor) names.floor_ms_ = std::max<int64_t>(1, static_cast<int64_t>(hls.fragment * 1000));
    names.playlist_ = names.expand(hls.m3u8_file, {});
    for (const std::string& path : {names.playlist_, names.segment({}), names.init({}, false), names.key({})}) {
        if (!is_safe(path)) return fail(Code::kRefused, fmt::format("'{}' is no path below hls_path", path));
        // It might collide with another stream's file being written.
        if (path.ends_with(".tmp")) return fail(Code::kRefused, fmt::format("'{}' ends as a growing file", path));
        for (const std::string_view suffix : {kAudioSuffix, kVideoSuffix, kMasterSuffix})
            if (base::lower(path).find(suffix) != path.npos)
                return fail(Code::kRefused,
                            fmt::format("'{}' has '{}', which marks files of other streams' tracks", path, suffix));
        if (is_part(path)) return fail(Code::kRefused, fmt::format("'{}' is named as a part of a segment", path));
    }
    return names;
}

std::string SegmentPaths::expand(const std::string& pattern, const PathValues& values) const {
    config::PathVariables variables;
    variables.set("vhost", key_.vhost).set("app", key_.app).set("stream", key_.name);
    variables.set("seq", std::to_string(values.sequence)).set("duration", std::to_string(values.duration_ms));
    variables.set_time(values.clock_ms, utc_);
    if (floor_ms_ > 0) variables.set("timestamp", std::to_string(values.clock_ms / floor_ms_));
    std::string path = variables.expand(pattern);
    while (path.starts_with("./")) path.erase(0, 2);
    return path;
}

SegmentPaths SegmentPaths::of_rendition(RenditionId id) const {
    if (id == kMainRendition) return *this;
    SegmentPaths names = *this;
    names.suffix_ = id == kVideoRendition ? std::string(kVideoSuffix)
                                          : fmt::format("{}{}", kAudioSuffix, id - kFirstAudioRendition + 1);
    names.playlist_ = with_suffix(playlist_, names.suffix_);
    return names;
}

std::string SegmentPaths::master() const { return with_suffix(playlist_, kMasterSuffix); }

std::string SegmentPaths::segment(const PathValues& values, bool numbered) const {
    std::string path = expand(segment_pattern_, values);
    return with_suffix(numbered ? with_suffix(path, fmt::format("-{}", values.sequence)) : path, suffix_);
}

std::string SegmentPaths::part(uint64_t number) const {
    return before_part().append(std::to_string(number)).append(extension_);
}

std::string SegmentPaths::before_part() const {
    size_t dot = playlist_.rfind('.');
    if (dot == playlist_.npos || dot <= http::directory_of(playlist_).size()) dot = playlist_.size();
    return playlist_.substr(0, dot).append(kPartSuffix);
}

std::string SegmentPaths::key(const PathValues& values) const {
    return with_suffix(expand(key_pattern_, values), suffix_);
}

std::string SegmentPaths::init(const PathValues& values, bool numbered) const {
    std::string path = expand(init_pattern_, values);
    return with_suffix(numbered ? with_suffix(path, fmt::format("-{}", values.sequence)) : path, suffix_);
}

std::string SegmentPaths::growing(uint64_t number) const { return fmt::format("{}.{}.tmp", playlist_, number); }

// "live.m3u8.12.tmp", or "live.m3u8.tmp".
bool SegmentPaths::is_growing(std::string_view file_name) const {
    const std::string_view own = name_of(playlist_);
    if (!file_name.starts_with(own) || !file_name.ends_with(".tmp")) return false;
    file_name.remove_prefix(own.size());
    if (file_name == ".tmp") return true;
    file_name.remove_suffix(4);
    return file_name.size() > 1 && file_name[0] == '.' && std::ranges::all_of(file_name.substr(1), is_digit);
}

std::optional<live::StreamKey> stream_of_playlist(const VhostConfig& hls, const std::string& vhost,
                                                  std::string_view path) {
    const auto found = config::match_path(hls.m3u8_file, path, vhost);
    if (!found || found->stream.empty()) return {};
    live::StreamKey key{vhost, found->app, found->stream};
    // A file system that ignores case may have it, and a number behind a name may belong to another file.
    const auto names = SegmentPaths::make(hls, key, false);
    if (!names || names->playlist() != path) return {};
    return key;
}

std::optional<live::StreamKey> stream_of(const config::Vhost& vhost, std::string_view path) {
    VhostConfig hls = vhost.get<VhostConfig>();
    if (hls.enabled)
        if (auto named = stream_of_playlist(hls, vhost.name, path)) return named;
    const auto& dash = vhost.get<DashConfig>();
    hls.m3u8_file = dash.mpd_file;
    return dash.enabled ? stream_of_playlist(hls, vhost.name, path) : std::nullopt;
}

std::string path_below(const config::Vhost& vhost, std::string_view path) {
    const config::VhostHttpStatic& files = vhost.http_static;
    const auto is_mounted = [&](std::string_view dir) { return without_slashes(files.dir) == without_slashes(dir); };
    if (files.enabled && (is_mounted(vhost.get<VhostConfig>().path) || is_mounted(vhost.get<DashConfig>().path))) {
        std::string_view mount = files.mount;
        mount.remove_prefix(std::min(mount.find('/'), mount.size()));
        mount = without_slashes(mount);
        if (!mount.empty() && path.starts_with(mount) && path.substr(mount.size()).starts_with('/'))
            path.remove_prefix(mount.size());
    }
    while (path.starts_with('/')) path.remove_prefix(1);
    return std::string(path);
}

std::string SegmentPaths::uri(const std::string& prefix, std::string_view path) const {
    if (prefix.empty()) return http::relative_reference(playlist_, path);
    const auto [before, query] = split_query(prefix);
    return fmt::format("{}{}{}{}", before, before.ends_with('/') ? "" : "/", http::percent_encode(path), query);
}

std::optional<std::string> SegmentPaths::path(const std::string& prefix, std::string_view uri) const {
    std::string folder;
    if (prefix.empty()) {
        folder = http::directory_of(playlist_);
        while (uri.starts_with("../") && !folder.empty()) {
            uri.remove_prefix(3);
            folder = http::directory_of(std::string_view(folder).substr(0, folder.size() - 1));
        }
    } else {
        const auto [before, query] = split_query(prefix);
        if (!uri.starts_with(before) || !uri.substr(before.size()).ends_with(query)) return std::nullopt;
        uri.remove_prefix(before.size());
        uri.remove_suffix(query.size());
        if (uri.starts_with('/')) uri.remove_prefix(1);
    }
    auto decoded = http::percent_decode(uri);
    if (!decoded || decoded->empty() || decoded->starts_with('/')) return std::nullopt;
    std::string path = folder + *decoded;
    if (!is_safe(path)) return std::nullopt;
    return path;
}

}  // namespace service::hls
