// The rows of a vhost that several rooms read: players, publishers, static files.

#include "config/row_builder.h"

namespace config {
namespace {

void add_general(std::vector<Row>& rows) {
    const Scope scope{"vhost", [](const auto& root) -> decltype(auto) { return (*root.vhost); }};
    rows.push_back(guarding(row(scope, "enabled", &Vhost::enabled, true, none(), kLive,
                                "A disabled vhost refuses every client that names it.")));
    rows.push_back(row(scope, "min_latency", &Vhost::min_latency, false, none(), kLive,
                       "Every frame is sent when it arrives: mw_latency becomes 0 unless it is set. On by "
                       "default with rtc."));
    rows.push_back(row(scope, "tcp_nodelay", &Vhost::tcp_nodelay, false, none(), kLive,
                       "Sockets of players do not wait until a segment is full (TCP_NODELAY)."));
    Row chunk_size = row(scope, "chunk_size", &Vhost::chunk_size, 0, bytes(128, kMaxChunkSize), kLive,
                         "Chunk size of the RTMP messages that the server sends in this vhost; without it rtmp's "
                         "chunk_size.",
                         "60000");
    chunk_size.initial = "";
    rows.push_back(std::move(chunk_size));
    rows.push_back(row(scope, "in_ack_size", &Vhost::in_ack_size, 0, bytes(0, 2'000'000'000), kLive,
                       "Number of received bytes after which the server sends an acknowledgement; 0: as the "
                       "client requests."));
    rows.push_back(row(scope, "out_ack_size", &Vhost::out_ack_size, 2'500'000, bytes(0, 2'000'000'000), kLive,
                       "Number of bytes after which the client is requested to send an acknowledgement; 0: no "
                       "request."));
    rows.push_back(row(scope, "stream_memory", &Vhost::stream_memory, 256, megabytes(4, 1'000'000), kLive,
                       "Maximum memory that a stream holds for players, HLS and recordings. At the limit it "
                       "first drops data that only slow viewers still need, then the GOP cache. A publisher "
                       "whose stream still exceeds the limit is closed."));
}

void add_play(std::vector<Row>& rows) {
    const Scope scope{"vhost/play", [](const auto& root) -> decltype(auto) { return (root.vhost->play); }};
    using P = VhostPlay;
    rows.push_back(row(scope, "gop_cache", &P::gop_cache, true, none(), kLive,
                       "A new viewer begins at the last keyframe received, not at the next one."));
    rows.push_back(row(scope, "gop_cache_max_frames", &P::gop_cache_max_frames, 2500, count(0, 1'000'000), kLive,
                       "A GOP with more frames than this, audio included, is not cached; 0: only its size in "
                       "bytes is limited."));
    rows.push_back(row(scope, "queue_length", &P::queue_length, 30, seconds(1, 3600), kLive,
                       "A viewer that is further behind skips to a later keyframe."));
    rows.push_back(row(scope, "time_jitter", &P::time_jitter, TimeJitter::kFull, none(), kLive,
                       "full: timestamps start at 0 and never decrease; zero: they start at 0; off: as "
                       "published."));
    rows.push_back(row(scope, "atc", &P::atc, false, none(), kLive,
                       "Absolute time: timestamps are not changed, so that they are the same on every server of "
                       "the stream."));
    rows.push_back(row(scope, "atc_auto", &P::atc_auto, false, none(), kLive,
                       "Switches atc on if the publisher's metadata has bravo_atc."));
    rows.push_back(row(scope, "mix_correct", &P::mix_correct, false, none(), kLive,
                       "Reorders audio and video by timestamp if the publisher sends them out of order."));
    rows.push_back(row(scope, "mw_latency", &P::mw_latency, 350, milliseconds(0, 60'000), kLive,
                       "Frames are collected for this time and sent together; 0: each frame is sent at once. 0 "
                       "by default with min_latency or rtc."));
    rows.push_back(row(scope, "send_min_interval", &P::send_min_interval, 0.0, milliseconds(0, 10'000), kLive,
                       "Minimum time between two sends to a viewer; 0: as mw_latency determines."));
    rows.push_back(row(scope, "reduce_sequence_header", &P::reduce_sequence_header, false, none(), kLive,
                       "A sequence header that is equal to the previous one is not sent again."));
    rows.push_back(row(scope, "send_timeout", &P::send_timeout, 30'000, milliseconds(100, 3'600'000), kLive,
                       "A viewer that accepts no byte for this time is closed."));
    rows.push_back(row(scope, "rejoin_timeout", &P::rejoin_timeout, 30'000, milliseconds(0, 86'400'000), kLive,
                       "Time for which players wait for a publisher that left; then their playback ends."));
}

void add_publish(std::vector<Row>& rows) {
    const Scope scope{"vhost/publish", [](const auto& root) -> decltype(auto) { return (root.vhost->publish); }};
    using P = VhostPublish;
    rows.push_back(row(scope, "mr", &P::mr, false, none(), kLive,
                       "Merged read: the publisher's bytes are collected for mr_latency and read together. Off: "
                       "they are read when the players are sent to (play.mw_latency), or every 40 to 150 ms for other "
                       "consumers. No effect with min_latency."));
    rows.push_back(row(scope, "mr_latency", &P::mr_latency, 350, milliseconds(0, 10'000), kLive,
                       "Time for which mr collects bytes."));
    rows.push_back(row(scope, "firstpkt_timeout", &P::firstpkt_timeout, 20'000, milliseconds(100, 3'600'000), kLive,
                       "A publisher that sends no frame within this time after its start is closed."));
    rows.push_back(row(scope, "normal_timeout", &P::normal_timeout, 5'000, milliseconds(100, 3'600'000), kLive,
                       "A publisher that sends no frame for this time is closed, and the name of its stream "
                       "becomes free."));
    rows.push_back(row(scope, "parse_sps", &P::parse_sps, true, none(), kLive,
                       "Reads the video's size and profile from the sequence header, for the API and the log."));
    rows.push_back(row(scope, "kickoff_for_idle", &P::kickoff_for_idle, 0, seconds(0, 86'400), kLive,
                       "A publisher without a player for this time is closed; 0: never."));
    rows.push_back(row(scope, "takeover", &P::takeover, false, none(), kLive,
                       "A second publisher of a stream takes it over; otherwise it is refused."));
    rows.push_back(row(scope, "standby", &P::standby, StandbyMode::kOff, none(), kLive,
                       "A second publisher of a stream waits, and takes over at a keyframe when the first one ends or "
                       "freezes; preempt: also when its priority (?priority=2) is higher. See doc/standby.md."));
    rows.push_back(row(scope, "standby_timeout", &P::standby_timeout, 2'000, milliseconds(500, 3'600'000), kLive,
                       "A publisher that sends no video frame for this time, or no audio where there is no video, is "
                       "frozen: a standby takes over."));
    rows.push_back(row(scope, "standby_max", &P::standby_max, 4, count(1, 16), kLive,
                       "Publishers of one stream that may wait; further ones are refused."));
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
