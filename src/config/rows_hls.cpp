// The rows of HLS.

#include "config/row_builder.h"

namespace config {
namespace {

using H = VhostHls;
const Scope kScope{"vhost/hls", [](const auto& root) -> decltype(auto) { return (root.vhost->hls); }};

void add_cutting(std::vector<Row>& rows) {
    rows.push_back(row(kScope, "enabled", &H::enabled, false, none(), kLive, "HLS for this vhost."));
    rows.push_back(row(kScope, "hls_use_fmp4", &H::use_fmp4, false, none(), kLive,
                       "Segments are fragmented MP4 (CMAF) instead of TS."));
    rows.push_back(row(kScope, "hls_fragment", &H::fragment, 10.0, seconds(0.1, 3600), kLive,
                       "Length of a segment: it ends at the first keyframe after so long."));
    rows.push_back(row(kScope, "hls_td_ratio", &H::td_ratio, 1.0, count(0.1, 100), kLive,
                       "The playlist's target duration is hls_fragment times this, or the longest segment."));
    rows.push_back(row(kScope, "hls_aof_ratio", &H::aof_ratio, 2.1, count(1, 100), kLive,
                       "Without video a segment ends after so many times hls_fragment."));
    rows.push_back(row(kScope, "hls_window", &H::window, 60.0, seconds(1, 86'400), kLive,
                       "Length of the playlist; three segments at least."));
    rows.push_back(row(kScope, "hls_wait_keyframe", &H::wait_keyframe, true, none(), kLive,
                       "Segments begin at keyframes; otherwise at any frame once hls_fragment is over."));
    rows.push_back(row(kScope, "hls_ts_floor", &H::ts_floor, false, none(), kLive,
                       "Segments are cut at whole multiples of hls_fragment of the clock, and [timestamp] in their "
                       "names is the number of that multiple: the same on several servers."));
    rows.push_back(row(kScope, "hls_dts_directly", &H::dts_directly, true, none(), kLive,
                       "Timestamps are the stream's own; otherwise those of AAC are counted from its samples."));
}

void add_files(std::vector<Row>& rows) {
    rows.push_back(row(kScope, "hls_storage", &H::storage, "disk", one_of({"disk", "memory", "both"}), kLive,
                       "Where segments are kept: disk, memory (nothing is written), or both (HTTP serves memory)."));
    rows.push_back(row(kScope, "hls_path", &H::path, "./objs/nginx/html", none(), kLive, "Directory of the files."));
    rows.push_back(row(kScope, "hls_m3u8_file", &H::m3u8_file, "[app]/[stream].m3u8", none(), kLive,
                       "Path of the playlist below hls_path."));
    rows.push_back(row(kScope, "hls_ts_file", &H::ts_file, "[app]/[stream]-[seq].ts", none(), kLive,
                       "Path of a TS segment below hls_path."));
    rows.push_back(row(kScope, "hls_fmp4_file", &H::fmp4_file, "[app]/[stream]-[seq].m4s", none(), kLive,
                       "Path of an MP4 segment below hls_path."));
    rows.push_back(row(kScope, "hls_init_file", &H::init_file, "[app]/[stream]/init.mp4", none(), kLive,
                       "Path of the MP4 initialisation segment below hls_path; a changed one gets a number."));
    rows.push_back(row(kScope, "hls_entry_prefix", &H::entry_prefix, "", none(), kLive,
                       "Put before the segments' paths in the playlist.", "http://your-server"));
    rows.push_back(row(kScope, "hls_cleanup", &H::cleanup, true, none(), kLive,
                       "Segments that left the playlist are deleted, a playlist's length later."));
    rows.push_back(row(kScope, "hls_dispose", &H::dispose, 120, seconds(0, 31'536'000), kLive,
                       "All of a stream's HLS is deleted so long after its publisher left; 0: never."));
    rows.push_back(row(kScope, "hls_recover", &H::recover, true, none(), kLive,
                       "After a restart a playlist goes on where it was, behind a discontinuity."));
    rows.push_back(row(kScope, "hls_on_error", &H::on_error, "continue", one_of({"ignore", "disconnect", "continue"}),
                       kLive,
                       "When a segment cannot be written: ignore (no HLS until the next publish), disconnect the "
                       "publisher, or continue (that segment is missing, the next one is tried)."));
}

void add_viewers(std::vector<Row>& rows) {
    rows.push_back(row(kScope, "hls_ctx", &H::ctx, true, none(), kLive,
                       "A viewer's first playlist is a master playlist that gives it an id, by which viewers are "
                       "counted."));
    rows.push_back(row(kScope, "hls_ts_ctx", &H::ts_ctx, true, none(), kLive,
                       "That id stands in the segments' URLs too; off lets caches share segments."));
    rows.push_back(row(kScope, "hls_master_m3u8_path_relative", &H::master_m3u8_path_relative, false, none(), kLive,
                       "The master playlist names the playlist relative to itself, not by its whole path."));
}

void add_keys(std::vector<Row>& rows) {
    rows.push_back(row(kScope, "hls_keys", &H::keys, false, none(), kLive, "Segments are encrypted by AES-128."));
    rows.push_back(row(kScope, "hls_fragments_per_key", &H::fragments_per_key, 5, count(1, 1'000'000), kLive,
                       "Segments that share a key."));
    rows.push_back(row(kScope, "hls_key_file", &H::key_file, "", none(), kLive,
                       "Path of a key below hls_key_file_path; [seq] is the first segment's that it is for. Without "
                       "it: [app]/[stream]-[seq].key.",
                       "[app]/[stream]-[seq].key"));
    rows.push_back(row(kScope, "hls_key_file_path", &H::key_file_path, "", none(), kLive,
                       "Directory of the keys; hls_path unless given.", "./objs/nginx/html"));
    rows.push_back(row(kScope, "hls_key_url", &H::key_url, "", none(), kLive,
                       "Put before the keys' paths in the playlist; relative to the playlist unless given.",
                       "http://localhost:8080/"));
}

}  // namespace

void add_hls_rows(std::vector<Row>& rows) {
    const Scope global{"", [](const auto& root) -> decltype(auto) { return (root.snapshot->global); }};
    rows.push_back(row(global, "hls_roll", &Global::hls_roll, "./objs/hls.roll", none(), kRestart,
                       "File that lists the streams with HLS on disk, so that hls_dispose holds over a restart; a "
                       "server each."));
    add_cutting(rows);
    add_files(rows);
    add_viewers(rows);
    add_keys(rows);
}

}  // namespace config
