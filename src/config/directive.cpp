#include "config/directive.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "config/row_builder.h"
#include "config/section.h"

namespace config {
namespace {

using Names = Block::Names;

// The blocks that are known without any service, and the feature that is missing where no service has rows for them.
// Also the order in which full.conf and the documentation show the scopes.
std::vector<Block> known_blocks() {
    return {
        {"rtmp", Names::kNone, false, false, nullptr,
         "RTMP. listen and chunk_size may also stand outside of any block."},
        {"rtmps", Names::kNone, false, false, nullptr, "RTMP over TLS."},
        {"http_server", Names::kNone, false, false, nullptr, "HTTP for live streams and files."},
        {"http_server/https", Names::kNone, false, false, nullptr, "HTTP over TLS."},
        {"http_api", Names::kNone, false, false, nullptr, "The HTTP API."},
        {"http_api/raw_api", Names::kNone, false, false, nullptr, "API calls that change the server."},
        {"http_api/control", Names::kNone, false, false, nullptr,
         "Addresses from which the API may change the server."},
        {"http_api/auth", Names::kNone, false, false, nullptr, "Authentication of API calls."},
        {"http_api/https", Names::kNone, false, false, nullptr, "The API over TLS."},
        {"console", Names::kNone, false, false, &features::kConsole, "The server's web pages, see doc/console.md."},
        {"address_limits", Names::kNone, false, false, nullptr, "Limits per client address."},
        {"disk", Names::kNone, false, false, nullptr, "How recordings and segments are written."},
        {"srt_server", Names::kNone, false, false, &features::kSrt, "SRT, see doc/srt.md."},
        {"rtc_server", Names::kNone, false, false, &features::kRtc, "WebRTC, see doc/webrtc.md."},
        {"rtc_server/tcp", Names::kNone, false, false, &features::kRtc, "WebRTC over TCP."},
        {"rtc_server/black_hole", Names::kNone, false, false, &features::kRtc, "Copies of packets, for debugging."},
        {"rtsp_server", Names::kNone, false, false, &features::kRtsp, "RTSP, see doc/rtsp.md."},
        {"circuit_breaker", Names::kNone, false, false, nullptr, "Overload: see doc/reload.md."},
        {"exporter", Names::kNone, false, false, &features::kExporter, "Metrics for Prometheus, see doc/metrics.md."},
        {"heartbeat", Names::kNone, false, false, &features::kHeartbeat,
         "Reports to another server, see doc/forward.md."},
        {"heartbeat/auth", Names::kNone, false, false, &features::kHeartbeat, "Credentials of the reports."},
        {"redis", Names::kNone, false, false, &features::kOriginCluster, "The Redis of a cluster, see doc/cluster.md."},
        {"threads", Names::kNone, false, true, &features::kThreads, "Threads, in SRS 5 to 7."},
        {"stats", Names::kNone, false, false, &features::kStats, "Devices that the summary shows."},
        {"stream_caster", Names::kOptional, true, false, &features::kStreamCaster,
         "Streams of senders that have no protocol of their own, see doc/udp.md and doc/flv-post.md."},
        {"stream_caster/sip", Names::kNone, false, true, &features::kSip, "The SIP server of GB28181."},
        {"tencentcloud_cls", Names::kNone, false, true, &features::kCloudLogs, "Logs for a cloud service."},
        {"tencentcloud_apm", Names::kNone, false, true, &features::kCloudLogs, "Traces for a cloud service."},
        {"vhost", Names::kRequired, true, false, nullptr,
         "A virtual host: its name is the host of the URL. __defaultVhost__ serves every host "
         "that has no vhost."},
        {"vhost/play", Names::kNone, false, false, nullptr, "Players."},
        {"vhost/publish", Names::kNone, false, false, nullptr, "Publishers."},
        {"vhost/http_remux", Names::kNone, false, false, &features::kHttpLive, "Live streams by HTTP and WebSocket."},
        {"vhost/http_static", Names::kNone, false, false, nullptr, "Files by HTTP."},
        {"vhost/srt", Names::kNone, false, false, &features::kSrt, "SRT, see doc/srt.md."},
        {"vhost/rtc", Names::kNone, false, false, &features::kRtc, "WebRTC, see doc/webrtc.md."},
        {"vhost/rtsp", Names::kNone, false, false, &features::kRtsp, "RTSP, see doc/rtsp.md."},
        {"vhost/hls", Names::kNone, false, false, &features::kHls,
         "HLS: streams as playlists of segments, see doc/hls.md."},
        {"vhost/dash", Names::kNone, false, false, &features::kDash,
         "DASH: streams as manifests and segments, see doc/dash.md."},
        {"vhost/hds", Names::kNone, false, false, &features::kHds, "HDS."},
        {"vhost/dvr", Names::kNone, false, false, &features::kDvr, "Recording."},
        {"vhost/refer", Names::kNone, false, false, nullptr, "Web pages from which clients may come."},
        {"vhost/security", Names::kNone, false, false, nullptr, "From which addresses clients may publish and play."},
        {"vhost/http_hooks", Names::kNone, false, false, &features::kHooks,
         "Events for HTTP servers, see doc/hooks.md."},
        {"vhost/signed_urls", Names::kNone, false, false, nullptr,
         "URLs with an expiry and a signature, see doc/hooks.md."},
        {"vhost/bandcheck", Names::kNone, false, true, &features::kBandwidthCheck, "Tests of a client's bandwidth."},
        {"vhost/cluster", Names::kNone, false, false, &features::kCluster, "Edges and origins, see doc/edge.md."},
        {"vhost/forward", Names::kNone, false, false, &features::kForward, "Passing streams on, see doc/forward.md."},
        {"vhost/exec", Names::kOptional, false, false, &features::kExec, "Programs for streams."},
        {"vhost/ingest", Names::kOptional, true, false, &features::kIngest, "Pulling streams."},
        {"vhost/ingest/input", Names::kNone, false, false, &features::kIngest, "What to pull."},
        {"vhost/ingest/engine", Names::kOptional, true, false, &features::kIngestTool, "What to make of it."},
        {"vhost/ingest/engine/perfile", Names::kNone, false, true, &features::kIngestTool, "Options before the input."},
        {"vhost/ingest/engine/vfilter", Names::kNone, false, true, &features::kIngestTool, "Filters."},
        {"vhost/ingest/engine/vparams", Names::kNone, false, true, &features::kIngestTool,
         "Options of the video encoder."},
        {"vhost/ingest/engine/aparams", Names::kNone, false, true, &features::kIngestTool,
         "Options of the audio encoder."},
        {"vhost/transcode", Names::kOptional, true, false, &features::kTranscode,
         "Transcoding: of the vhost, an app or a stream."},
        {"vhost/transcode/engine", Names::kOptional, true, false, &features::kTranscode, "One output."},
        {"vhost/transcode/engine/perfile", Names::kNone, false, true, &features::kTranscode,
         "Options before the input."},
        {"vhost/transcode/engine/vfilter", Names::kNone, false, true, &features::kTranscode, "Filters."},
        {"vhost/transcode/engine/vparams", Names::kNone, false, true, &features::kTranscode,
         "Options of the video encoder."},
        {"vhost/transcode/engine/aparams", Names::kNone, false, true, &features::kTranscode,
         "Options of the audio encoder."},
    };
}

// In the table's order; a block is built in if a row switches it on, or if it has rows and the block around it is.
std::vector<Block> make_blocks(const std::vector<Row>& rows_of_sections) {
    std::vector<Block> blocks = known_blocks();
    for (const Section& section : sections()) blocks.insert(blocks.end(), section.blocks.begin(), section.blocks.end());
    for (Block& block : blocks) {
        if (!block.missing) continue;
        const auto has = [&](std::string_view path, auto part) {
            return std::ranges::find(rows_of_sections, path, part) != rows_of_sections.end();
        };
        const auto around = std::ranges::find(blocks, block.path.substr(0, block.path.rfind('/')), &Block::path);
        const bool is_part = around != blocks.end() && around->path != "vhost" && !around->missing;
        // The switch of cluster is its mode.
        if (has(block.path + "/enabled", &Row::path) || has(block.path + "/mode", &Row::path) ||
            (is_part && has(block.path, &Row::scope)) || find_free_block(block.path))
            block.missing = nullptr;
        else if (block.missing->state == features::kNotBuiltIn)
            block.free_form = true;
    }
    return blocks;
}

constexpr Alias kAliases[] = {
    {"listen", "rtmp/listen", false},
    {"chunk_size", "rtmp/chunk_size", false},
    {"http_stream", "http_server"},
    {"vhost/http", "vhost/http_static"},
    {"vhost/gop_cache", "vhost/play/gop_cache"},
    {"vhost/queue_length", "vhost/play/queue_length"},
    {"vhost/time_jitter", "vhost/play/time_jitter"},
    {"vhost/atc", "vhost/play/atc"},
    {"vhost/atc_auto", "vhost/play/atc_auto"},
    {"vhost/mix_correct", "vhost/play/mix_correct"},
    {"vhost/mw_latency", "vhost/play/mw_latency"},
    {"vhost/send_min_interval", "vhost/play/send_min_interval"},
    {"vhost/reduce_sequence_header", "vhost/play/reduce_sequence_header"},
    {"vhost/gop_cache_max_frames", "vhost/play/gop_cache_max_frames"},
    {"vhost/publish_1stpkt_timeout", "vhost/publish/firstpkt_timeout"},
    {"vhost/publish_normal_timeout", "vhost/publish/normal_timeout"},
    {"vhost/mode", "vhost/cluster/mode"},
    {"vhost/origin", "vhost/cluster/origin"},
    {"vhost/token_traverse", "vhost/cluster/token_traverse"},
    {"vhost/vhost", "vhost/cluster/vhost"},
    {"vhost/debug_srs_upnode", "vhost/cluster/debug_srs_upnode"},
    {"srt_server/tlpkdrop", "srt_server/tlpktdrop"},
};

// The rows of each section's own blocks, which are those that it can switch on, come before rows in blocks of others.
// A row that several sections have is taken from the first one.
std::vector<Row> rows_of_sections() {
    std::vector<Row> rows, in_other_blocks;
    std::set<std::string> paths;
    for (const Section& section : sections()) {
        std::vector<Row> added;
        section.add_rows(added);
        std::set<std::string> own{""};
        for (const Row& row : added)
            if (row.name == "enabled" || row.name == "mode") own.insert(row.scope);
        for (Row& row : added)
            if (paths.insert(row.path()).second)
                (own.contains(row.scope) ? rows : in_other_blocks).push_back(std::move(row));
    }
    std::ranges::move(in_other_blocks, std::back_inserter(rows));
    return rows;
}

const std::vector<Block>& block_table() {
    static const std::vector<Block> kBlocks = make_blocks(rows_of_sections());
    return kBlocks;
}

std::vector<Row> make_rows() {
    std::vector<Row> rows;
    add_server_rows(rows);
    add_process_rows(rows);
    add_vhost_rows(rows);
    add_disk_rows(rows);
    std::ranges::move(rows_of_sections(), std::back_inserter(rows));
    add_security_rows(rows);
    add_later_rows(rows);
    std::map<std::string_view, size_t> order;  // of scopes; the global one is 0
    for (const Block& block : block_table()) order.emplace(block.path, order.size() + 1);
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
        auto rank = [&](const Row& row) { return row.scope.empty() ? 0 : order.at(row.scope); };
        return rank(a) < rank(b);
    });
    return rows;
}

const std::vector<Row>& row_table() {
    static const std::vector<Row> kRows = make_rows();
    return kRows;
}

template <class T, class Path>
std::map<std::string, const T*, std::less<>> index_of(std::span<const T> table, Path path) {
    std::map<std::string, const T*, std::less<>> index;
    for (const T& entry : table) index.emplace(path(entry), &entry);
    return index;
}

template <class T>
const T* look_up(const std::map<std::string, const T*, std::less<>>& index, std::string_view path) {
    auto found = index.find(path);
    return found == index.end() ? nullptr : found->second;
}

bool is_child(std::string_view path, std::string_view scope, std::string_view& name) {
    size_t slash = path.rfind('/');
    std::string_view parent = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
    name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    return parent == scope;
}

}  // namespace

std::span<const Row> rows() { return row_table(); }
std::span<const Block> blocks() { return block_table(); }
std::span<const Alias> aliases() { return kAliases; }

const Row* find_row(std::string_view path) {
    static const auto kIndex = index_of(rows(), [](const Row& row) { return row.path(); });
    return look_up(kIndex, path);
}

const Block* find_block(std::string_view path) {
    static const auto kIndex = index_of(blocks(), [](const Block& block) { return block.path; });
    return look_up(kIndex, path);
}

const Alias* find_alias(std::string_view path) {
    static const auto kIndex = index_of(aliases(), [](const Alias& alias) { return std::string(alias.from); });
    return look_up(kIndex, path);
}

bool in_named_block(const Row& row) {
    for (const Block& block : blocks()) {
        bool inside = row.scope == block.path || row.scope.starts_with(block.path + "/");
        if (inside && block.repeatable && block.path != "vhost") return true;
    }
    return false;
}

std::vector<std::string_view> names_in(std::string_view scope) {
    std::vector<std::string_view> names;
    std::string_view name;
    for (const Row& row : rows()) {
        if (row.scope == scope) names.push_back(row.name);
    }
    for (const Block& block : blocks()) {
        if (is_child(block.path, scope, name)) names.push_back(name);
    }
    for (const Alias& alias : aliases()) {
        if (!alias.old && is_child(alias.from, scope, name)) names.push_back(name);
    }
    if (scope.empty()) names.push_back("include");
    return names;
}

}  // namespace config
