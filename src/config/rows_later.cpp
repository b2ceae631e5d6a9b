// Directives of SRS that are recognised and documented, but have no effect: using one is a warning. They belong to
// features that are not built yet, and to those that are left out.

#include "config/features.h"
#include "config/row_builder.h"

namespace config {
namespace {

struct Later {
    std::string_view name;
    std::string_view initial;
    std::string_view doc;
    std::string_view example = {};
};

constexpr Later kVersionQuery[] = {
    {"query_latest_version", "off", "Asks a version server whether there is a newer release."},
    {"first_wait_for_qlv", "300", "Seconds until the first query."},
};
constexpr Later kRawApi[] = {
    {"allow_query", "off", "Directives can be read one by one."},
    {"allow_update", "off", "Directives can be changed."},
};
constexpr Later kRtcServer[] = {
    {"perf_stat", "off", "Counters of packets, in SRS 4."},
    {"queue_length", "0", "Packets that wait to be sent, in SRS 4."},
};

// Directives of earlier versions of this server.
constexpr Later kDisk[] = {
    {"backend", "auto", "How files are written: uring, threads or auto."},
    {"direct", "on", "With io_uring, recordings bypass the page cache."},
};
constexpr Later kStats[] = {
    {"enabled", "on", "Samples of the machine's network and disks."},
    {"network", "0", "Index of the network device that the summary shows."},
    {"disk", "", "Disks that the summary shows.", "sda sdb"},
};
constexpr Later kStreamCaster[] = {
    {"host", "", "This server's address for devices, in SRS 4.", "192.0.2.1"},
    {"tcp_enable", "off", "Media by TCP, in SRS 4."},
    {"rtp_port_min", "58200", "First port for media, in SRS 4."},
    {"rtp_port_max", "58300", "Last port for media, in SRS 4."},
    {"wait_keyframe", "on", "Streams begin at a keyframe, in SRS 4."},
    {"rtp_idle_timeout", "30", "A device that sends nothing for this time is considered lost, s, in SRS 4."},
    {"audio_enable", "on", "Audio of the devices, in SRS 4."},
    {"auto_create_channel", "off", "Streams are created when packets arrive, in SRS 4."},
};
constexpr Later kPlay[] = {
    {"mw_msgs", "8", "Minimum number of frames to send together, within mw_latency."},
};
constexpr Later kPublish[] = {
    {"try_annexb_first", "on", "Looks for start codes before length prefixes in H.264 payloads."},
};
constexpr Later kHttpRemux[] = {
    {"hstrs", "on", "Players wait for a stream that an edge pulls."},
};
constexpr Later kHlsCodecs[] = {
    {"hls_acodec", "aac", "Audio codec that segments declare until the stream's is known; an: none."},
    {"hls_vcodec", "h264", "Video codec that segments declare until the stream's is known; vn: none."},
};
constexpr Later kHlsMount[] = {
    {"hls_mount", "[vhost]/[app]/[stream].m3u8", "URL of playlists that are kept in memory."},
};
constexpr Later kHds[] = {
    {"enabled", "off", "HDS for this vhost."},
    {"hds_fragment", "10", "Length of a segment, s."},
    {"hds_window", "60", "Length of the playlist, s."},
    {"hds_path", "./objs/nginx/html", "Directory of the files."},
};
template <size_t N>
void add(std::vector<Row>& rows, std::string_view scope, const Feature& missing, const Later (&table)[N]) {
    for (const Later& later : table) {
        Row row;
        row.scope = scope;
        row.name = later.name;
        row.initial = later.initial;
        row.example = later.example;
        row.doc = later.doc;
        row.missing = &missing;
        rows.push_back(std::move(row));
    }
}

}  // namespace

void add_later_rows(std::vector<Row>& rows) {
    add(rows, "", features::kVersionQuery, kVersionQuery);
    add(rows, "http_api/raw_api", features::kRawQueries, kRawApi);
    add(rows, "rtc_server", features::kOldRtcServer, kRtcServer);
    add(rows, "disk", features::kUring, kDisk);
    add(rows, "stats", features::kStats, kStats);
    add(rows, "stream_caster", features::kOldStreamCaster, kStreamCaster);
    add(rows, "vhost/play", features::kSendingByTime, kPlay);
    add(rows, "vhost/publish", features::kStartCodes, kPublish);
    add(rows, "vhost/http_remux", features::kHstrs, kHttpRemux);
    add(rows, "vhost/hls", features::kHlsCodecs, kHlsCodecs);
    add(rows, "vhost/hls", features::kHlsMount, kHlsMount);
    add(rows, "vhost/hds", features::kHds, kHds);
}

}  // namespace config
