#include "service/hls/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "config/row_builder.h"
#include "service/hls/dash/config.h"

namespace service::hls {
namespace {

using H = VhostConfig;
// The text of so many is 1 MB, and is made for each new one.
constexpr int kMaxDvrSegments = 10'000;
const config::Scope kScope{"vhost/hls", config::kOfVhost<VhostConfig>};

void add_cutting(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(row(kScope, "enabled", &H::enabled, none(), kLive, "HLS for this vhost."));
    rows.push_back(
        row(kScope, "hls_use_fmp4", &H::use_fmp4, none(), kLive, "Segments are fragmented MP4 (CMAF) instead of TS."));
    rows.push_back(row(kScope, "hls_fragment", &H::fragment, seconds(0.1, 3600), kLive,
                       "Length of a segment: it ends at the first keyframe after so long."));
    rows.push_back(row(kScope, "hls_td_ratio", &H::td_ratio, count(0.1, 100), kLive,
                       "The playlist's target duration is hls_fragment times this, or the first segment's length, "
                       "if that is longer and hls_low_latency off."));
    rows.push_back(row(kScope, "hls_aof_ratio", &H::aof_ratio, count(1, 100), kLive,
                       "Without video a segment ends after so many times hls_fragment."));
    rows.push_back(row(kScope, "hls_window", &H::window, seconds(1, 86'400), kLive,
                       "Length of the playlist; three segments at least."));
    rows.push_back(row(kScope, "hls_dvr_window", &H::dvr_window, seconds(0, 604'800), kLive,
                       "Length of the playlist, if that is more, for players that go back; with hls_storage both what "
                       "is older than hls_window is on disk only. 0: off."));
    rows.push_back(row(kScope, "hls_wait_keyframe", &H::wait_keyframe, none(), kLive,
                       "Segments begin at keyframes; otherwise at any frame once hls_fragment is over."));
    rows.push_back(row(kScope, "hls_ts_floor", &H::ts_floor, none(), kLive,
                       "Segments are cut at whole multiples of hls_fragment of the clock, and [timestamp] in their "
                       "names is the number of that multiple: the same on several servers."));
    rows.push_back(row(kScope, "hls_dts_directly", &H::dts_directly, none(), kLive,
                       "Timestamps are the stream's own; otherwise those of AAC are counted from its samples."));
}

void add_low_latency(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(
        row(kScope, "hls_low_latency", &H::low_latency, none(), kLive,
            "Segments have parts that players fetch while the segment is made (low-latency HLS). It switches "
            "min_latency on, unless that is set, and has no effect with hls_keys."));
    rows.push_back(row(kScope, "hls_part", &H::part_ms, milliseconds(100, 5'000), kLive,
                       "About the length of a part; it is a whole number of frames."));
}

void add_files(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(row(kScope, "hls_storage", &H::storage, one_of({"disk", "memory", "both"}), kLive,
                       "Where segments are kept: disk, memory (nothing is written), or both (HTTP serves memory)."));
    rows.push_back(row(kScope, "hls_path", &H::path, none(), kLive, "Directory of the files."));
    rows.push_back(row(kScope, "hls_m3u8_file", &H::m3u8_file, none(), kLive, "Path of the playlist below hls_path."));
    rows.push_back(row(kScope, "hls_ts_file", &H::ts_file, none(), kLive, "Path of a TS segment below hls_path."));
    rows.push_back(
        row(kScope, "hls_fmp4_file", &H::fmp4_file, none(), kLive, "Path of an MP4 segment below hls_path."));
    rows.push_back(row(kScope, "hls_init_file", &H::init_file, none(), kLive,
                       "Path of the MP4 initialisation segment below hls_path; a changed one gets a number."));
    rows.push_back(row(kScope, "hls_entry_prefix", &H::entry_prefix, none(), kLive,
                       "Put before the segments' paths in the playlist; a query in it comes behind them.",
                       "http://your-server"));
    rows.push_back(row(kScope, "hls_cleanup", &H::cleanup, none(), kLive,
                       "Segments that left the playlist are deleted, a playlist's length later."));
    rows.push_back(row(kScope, "hls_dispose", &H::dispose, seconds(0, 31'536'000), kLive,
                       "All of a stream's HLS is deleted so long after its publisher left; 0: never."));
    rows.push_back(row(kScope, "hls_recover", &H::recover, none(), kLive,
                       "After a restart a playlist goes on where it was, behind a discontinuity."));
    rows.push_back(row(kScope, "hls_on_error", &H::on_error, one_of({"ignore", "disconnect", "continue"}), kLive,
                       "When a segment cannot be written: ignore (no HLS until the next publish), disconnect the "
                       "publisher, or continue (that segment is missing, the next one is tried)."));
}

void add_viewers(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(row(kScope, "hls_ctx", &H::ctx, none(), kLive,
                       "A viewer's first playlist is a master playlist that gives it an id, by which viewers are "
                       "counted."));
    rows.push_back(row(kScope, "hls_ts_ctx", &H::ts_ctx, none(), kLive,
                       "That id stands in the segments' URLs too; off lets caches share segments."));
    rows.push_back(row(kScope, "hls_master_m3u8_path_relative", &H::master_m3u8_path_relative, none(), kLive,
                       "The master playlist names the playlist relative to itself, not by its whole path."));
}

void add_variants(std::vector<config::Row>& rows) {
    rows.push_back(config::list_row(kScope, "hls_variants", &H::variants, config::kLive,
                                    "Streams that are variants of one multivariant playlist, called as the common part "
                                    "of their names; or patterns, such as [stream]_*.",
                                    "live/x_540p live/x_360p"));
}

void add_keys(std::vector<config::Row>& rows) {
    using namespace config;
    rows.push_back(guarding(row(kScope, "hls_keys", &H::keys, none(), kLive, "Segments are encrypted by AES-128.")));
    rows.push_back(row(kScope, "hls_fragments_per_key", &H::fragments_per_key, count(1, 1'000'000), kLive,
                       "Segments that share a key."));
    rows.push_back(row(kScope, "hls_key_file", &H::key_file, none(), kLive,
                       "Path of a key below hls_key_file_path; [seq] is the first segment's that it is for. Without "
                       "it: [app]/[stream]-[seq].key.",
                       "[app]/[stream]-[seq].key"));
    rows.push_back(row(kScope, "hls_key_file_path", &H::key_file_path, none(), kLive,
                       "Directory of the keys; hls_path unless given.", "./objs/nginx/html"));
    rows.push_back(row(
        kScope, "hls_key_url", &H::key_url, none(), kLive,
        "Put before the keys' paths in the playlist, a query in it behind them; relative to the playlist unless given.",
        "http://localhost:8080/"));
}

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope global{"", config::kOfServer<ServerConfig>};
    rows.push_back(row(global, "hls_roll", &ServerConfig::hls_roll, none(), kRestart,
                       "File that lists the streams with HLS on disk, so that hls_dispose holds over a restart; a "
                       "server each."));
    add_cutting(rows);
    add_low_latency(rows);
    add_files(rows);
    add_viewers(rows);
    add_variants(rows);
    add_keys(rows);
    add_dash_rows(rows);
}

// HLS files are below hls_path, and each stream and each segment has its own name.
void check_files(config::Checks& checks, const config::Vhost& vhost, const VhostConfig& hls) {
    auto has_one_of = [](std::string_view text, std::initializer_list<std::string_view> names) {
        return std::ranges::any_of(names, [&](std::string_view name) { return text.find(name) != text.npos; });
    };
    constexpr std::string_view kNames[] = {"vhost", "app", "stream", "seq", "duration"};
    auto check = [&](const char* path, const std::string& file, bool per_segment) {
        checks.check_variables(vhost, path, file, kNames);
        if (file.starts_with('/') || file.ends_with('/') || ("/" + file + "/").find("/../") != std::string::npos)
            checks.error(vhost, path, fmt::format("{} '{}' must name a file below its directory", path, file));
        if (!has_one_of(file, {"[stream]"}))
            checks.error(vhost, path, fmt::format("{} '{}' must have [stream], or streams share a file", path, file));
        if (per_segment && !has_one_of(file, {"[seq]", "[timestamp]"}))
            checks.error(vhost, path,
                         fmt::format("{} '{}' must have [seq] or [timestamp], or segments share a file", path, file));
    };
    check("vhost/dash/dash_mpd_file", vhost.get<DashConfig>().mpd_file, false);
    checks.check_variables(vhost, "vhost/dash/dash_path", vhost.get<DashConfig>().path, {});
    check("vhost/hls/hls_m3u8_file", hls.m3u8_file, false);
    check("vhost/hls/hls_ts_file", hls.ts_file, true);
    check("vhost/hls/hls_fmp4_file", hls.fmp4_file, true);
    check("vhost/hls/hls_init_file", hls.init_file, false);
    checks.check_variables(vhost, "vhost/hls/hls_path", hls.path, {});
    if (!hls.key_file.empty()) check("vhost/hls/hls_key_file", hls.key_file, true);
}

// Whether files below `inner` can be fetched where `outer` is served. Compares only the names.
bool lies_below(const std::string& inner, const std::string& outer) {
    auto normal = [](const std::string& path) {
        return (std::filesystem::path(path) / "").lexically_normal().string();
    };
    std::string in = normal(inner), out = normal(outer);
    return out == "./" ? !in.starts_with('/') : in.starts_with(out);
}

// Segments are only for players admitted to the playlist, which only the context can prove.
void check_signed_urls(config::Checks& checks, const config::Vhost& vhost, const VhostConfig& hls) {
    if (!vhost.signed_urls.enabled || !vhost.signed_urls.play) return;
    constexpr const char* kPath = "vhost/signed_urls/enabled";
    if (!hls.ctx || !hls.ts_ctx)
        checks.error(vhost, kPath, "signed_urls for play needs hls_ctx on and hls_ts_ctx on in hls");
    if (hls.storage == "memory") return;
    const auto& dash = vhost.get<DashConfig>();
    auto served = [&](const std::string& dir, std::string_view what) {
        for (const auto& [name, path, is_on] :
             {std::tuple{"hls_path", hls.path, hls.enabled}, {"dash_path", dash.path, dash.enabled}})
            if (is_on && lies_below(path, dir))
                checks.error(vhost, kPath,
                             fmt::format("without a signature {} serves the files of {} {}: let {} be elsewhere, or "
                                         "hls_storage be memory",
                                         what, name, path, name));
    };
    const config::Snapshot& snapshot = checks.snapshot();
    if (snapshot.http_server.enabled) served(snapshot.http_server.dir, "http_server's dir");
    for (const config::Vhost& other : snapshot.vhosts)
        if (other.http_static.enabled) served(other.http_static.dir, "http_static of " + other.name);
}

// The value of a directive of another service, in the form of the file; empty: this server has no such directive.
std::string value_of(config::Checks& checks, const config::Vhost& vhost, std::string_view path) {
    const config::Row* row = config::find_row(path);
    return row && row->supported() ? row->binding.get({&checks.snapshot(), &vhost}) : std::string();
}

// The same at an edge whose origin decides about players.
void check_token_traverse(config::Checks& checks, const config::Vhost& vhost, const VhostConfig& hls) {
    if (hls.ctx && hls.ts_ctx) return;
    constexpr const char* kPath = "vhost/cluster/token_traverse";
    if (value_of(checks, vhost, kPath) != "on" || value_of(checks, vhost, "vhost/cluster/mode") != "remote") return;
    checks.warning(vhost, kPath,
                   "with token_traverse players get no segment of HLS unless hls_ctx and hls_ts_ctx are on in hls");
}

// What arrives must not wait for more.
void check_low_latency(config::Checks& checks, config::Vhost& vhost, const VhostConfig& hls) {
    if (!hls.low_latency) return;
    if (hls.keys)
        return checks.warning(vhost, "vhost/hls/hls_low_latency", "hls_low_latency has no effect with hls_keys");
    if (!checks.was_set(vhost, "vhost/min_latency")) vhost.min_latency = true;
}

void check_variants(config::Checks& checks, const config::Vhost& vhost, VhostConfig& hls) {
    constexpr const char* kPath = "vhost/hls/hls_variants";
    auto names = config::StreamGroups::make(hls.variants);
    if (!names) return checks.error(vhost, kPath, fmt::format("hls_variants {}", names.error().text()));
    hls.variant_groups = *std::move(names);
    if (hls.ctx) return;
    for (const std::string& group : hls.variant_groups.groups_with_own_stream())
        checks.warning(vhost, kPath,
                       fmt::format("with hls_ctx off the playlist of {} is that of the stream alone: that of its "
                                   "variants is {}~master",
                                   group, group));
}

void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    auto& hls = vhost.get<VhostConfig>();
    const auto& dash = vhost.get<DashConfig>();
    if (!hls.enabled && !dash.enabled) return;
    check_variants(checks, vhost, hls);
    check_low_latency(checks, vhost, hls);
    check_files(checks, vhost, hls);
    if (hls.enabled && hls.keys && dash.enabled)
        checks.warning(vhost, "vhost/hls/hls_keys", "hls_keys has no effect on DASH: its segments are not encrypted");
    if (hls.enabled && hls.window < hls.fragment)
        checks.warning(vhost, "vhost/hls/hls_window",
                       fmt::format("hls_window {} is below hls_fragment {}: it has no effect, the playlist has three "
                                   "segments",
                                   hls.window, hls.fragment));
    if (hls.dvr_window > kMaxDvrSegments * hls.fragment)
        checks.error(vhost, "vhost/hls/hls_dvr_window",
                     fmt::format("hls_dvr_window {} with hls_fragment {} is more than {} segments", hls.dvr_window,
                                 hls.fragment, kMaxDvrSegments));
    check_signed_urls(checks, vhost, hls);
    check_token_traverse(checks, vhost, hls);
}

}  // namespace

config::Section section() { return {.service = "hls", .add_rows = add_rows, .check_vhost = check_vhost}; }

}  // namespace service::hls
