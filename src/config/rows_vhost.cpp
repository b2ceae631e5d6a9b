// The rows of a vhost that several rooms read: players, publishers, static files.

#include "config/row_builder.h"

namespace config {
namespace {

void add_general(std::vector<Row>& rows) {
    const Scope scope{"vhost", [](const auto& root) -> decltype(auto) { return (*root.vhost); }};
    rows.push_back(guarding(row(scope, "enabled", &Vhost::enabled, true, none(), kLive,
                                "A disabled vhost refuses everybody who names it.")));
    rows.push_back(row(scope, "min_latency", &Vhost::min_latency, false, none(), kLive,
                       "Every frame is sent as it comes: mw_latency becomes 0 unless it is set. On with rtc."));
    rows.push_back(row(scope, "tcp_nodelay", &Vhost::tcp_nodelay, false, none(), kLive,
                       "Players' sockets do not wait to fill a segment (TCP_NODELAY)."));
    Row chunk_size = row(scope, "chunk_size", &Vhost::chunk_size, 0, bytes(128, kMaxChunkSize), kLive,
                         "Chunk size of what the server sends by RTMP here; rtmp's chunk_size unless given.", "60000");
    chunk_size.initial = "";
    rows.push_back(std::move(chunk_size));
    rows.push_back(row(scope, "in_ack_size", &Vhost::in_ack_size, 0, bytes(0, 2'000'000'000), kLive,
                       "The server acknowledges what it receives each so many bytes; 0: as the client asks."));
    rows.push_back(row(scope, "out_ack_size", &Vhost::out_ack_size, 2'500'000, bytes(0, 2'000'000'000), kLive,
                       "The client is asked to acknowledge each so many bytes; 0: it is not asked."));
    rows.push_back(row(scope, "stream_memory", &Vhost::stream_memory, 256, megabytes(4, 1'000'000), kLive,
                       "Most memory that a stream may hold for players, HLS and recorders. At the limit it lets go of "
                       "what is for laggards, then of the GOP cache; a publisher that needs more all the same is "
                       "closed."));
}

void add_play(std::vector<Row>& rows) {
    const Scope scope{"vhost/play", [](const auto& root) -> decltype(auto) { return (root.vhost->play); }};
    using P = VhostPlay;
    rows.push_back(row(scope, "gop_cache", &P::gop_cache, true, none(), kLive,
                       "A new viewer begins at the newest keyframe already received, not at the next one."));
    rows.push_back(row(scope, "gop_cache_max_frames", &P::gop_cache_max_frames, 2500, count(0, 1'000'000), kLive,
                       "A group of pictures with more frames (audio too) is not kept; 0: only its bytes are bounded."));
    rows.push_back(row(scope, "queue_length", &P::queue_length, 30, seconds(1, 3600), kLive,
                       "How far a viewer may fall behind before it jumps to a later keyframe."));
    rows.push_back(row(scope, "time_jitter", &P::time_jitter, TimeJitter::kFull, none(), kLive,
                       "full: time starts at 0 and never goes back; zero: it starts at 0; off: as published."));
    rows.push_back(row(scope, "atc", &P::atc, false, none(), kLive,
                       "Absolute time: timestamps pass unchanged, the same on every server of the stream."));
    rows.push_back(row(scope, "atc_auto", &P::atc_auto, false, none(), kLive,
                       "Turns atc on when the publisher's metadata asks for it (bravo_atc)."));
    rows.push_back(row(scope, "mix_correct", &P::mix_correct, false, none(), kLive,
                       "Puts audio and video in order of time when the publisher sends them out of order."));
    rows.push_back(row(scope, "mw_latency", &P::mw_latency, 350, milliseconds(0, 60'000), kLive,
                       "Frames are collected for so long and sent together; 0 sends each at once. 0 with min_latency "
                       "or rtc."));
    rows.push_back(row(scope, "send_min_interval", &P::send_min_interval, 0.0, milliseconds(0, 10'000), kLive,
                       "Least time between two sends to a viewer; 0: as mw_latency has it."));
    rows.push_back(row(scope, "reduce_sequence_header", &P::reduce_sequence_header, false, none(), kLive,
                       "A sequence header equal to the last one is not sent again."));
    rows.push_back(row(scope, "send_timeout", &P::send_timeout, 30'000, milliseconds(100, 3'600'000), kLive,
                       "A viewer that accepts no byte for so long is closed."));
    rows.push_back(row(scope, "rejoin_timeout", &P::rejoin_timeout, 30'000, milliseconds(0, 86'400'000), kLive,
                       "Players wait so long for a publisher that left; then their play ends."));
}

void add_publish(std::vector<Row>& rows) {
    const Scope scope{"vhost/publish", [](const auto& root) -> decltype(auto) { return (root.vhost->publish); }};
    using P = VhostPublish;
    rows.push_back(
        row(scope, "mr", &P::mr, false, none(), kLive,
            "Merged read: the publisher's bytes are collected for mr_latency and read together. Off: for an eighth "
            "of play.mw_latency, at most 40 ms. Never with min_latency."));
    rows.push_back(
        row(scope, "mr_latency", &P::mr_latency, 350, milliseconds(0, 10'000), kLive, "How long mr collects."));
    rows.push_back(row(scope, "firstpkt_timeout", &P::firstpkt_timeout, 20'000, milliseconds(100, 3'600'000), kLive,
                       "A publisher that sends no frame so long after it began is closed."));
    rows.push_back(row(scope, "normal_timeout", &P::normal_timeout, 5'000, milliseconds(100, 3'600'000), kLive,
                       "A publisher that falls silent for so long is closed and its stream's name is free."));
    rows.push_back(row(scope, "parse_sps", &P::parse_sps, true, none(), kLive,
                       "Reads the picture's size and profile from the sequence header, for the API and the log."));
    rows.push_back(row(scope, "kickoff_for_idle", &P::kickoff_for_idle, 0, seconds(0, 86'400), kLive,
                       "A publisher without a player for so long is closed; 0: never."));
    rows.push_back(row(scope, "takeover", &P::takeover, false, none(), kLive,
                       "A second publisher of a stream takes it over; otherwise it is refused."));
}

void add_http_static(std::vector<Row>& rows) {
    const Scope files{"vhost/http_static",
                      [](const auto& root) -> decltype(auto) { return (root.vhost->http_static); }};
    using S = VhostHttpStatic;
    rows.push_back(row(files, "enabled", &S::enabled, false, none(), kLive, "Static files of this vhost."));
    rows.push_back(row(files, "mount", &S::mount, "[vhost]/", none(), kLive,
                       "The URL prefix of the files; a part before the first / is the host."));
    rows.push_back(row(files, "dir", &S::dir, "./objs/nginx/html", none(), kLive, "The directory of the files."));
}

}  // namespace

void add_vhost_rows(std::vector<Row>& rows) {
    add_general(rows);
    add_play(rows);
    add_publish(rows);
    add_http_static(rows);
}

}  // namespace config
