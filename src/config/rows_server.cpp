// The rows outside of vhosts: of the process, and of the servers of RTMP, HTTP and the API.

#include "config/row_builder.h"

namespace config {
namespace {

void add_global(std::vector<Row>& rows) {
    const Scope scope{"", [](const auto& root) -> decltype(auto) { return (root.snapshot->global); }};
    using G = Global;
    rows.push_back(row(scope, "server_id", &G::server_id, "", none(), kRestart,
                       "Name of this server in the API and in hooks. Without a value the server generates one "
                       "and stores it beside the pid file.",
                       "origin-1"));
    rows.push_back(row(scope, "pid", &G::pid, "./objs/srs.pid", none(), kRestart,
                       "File with the process id. The file is locked, so that a second server with the same "
                       "file does not start."));
    rows.push_back(row(scope, "srs_log_tank", &G::srs_log_tank, LogTank::kFile, none(), kLive,
                       "Where log lines go: to srs_log_file or to the console."));
    rows.push_back(row(scope, "srs_log_level", &G::srs_log_level, "trace",
                       one_of({"verbose", "info", "trace", "warn", "error", "off"}), kLive,
                       "The lowest level that is logged. trace is the normal level; info and verbose are more "
                       "detailed."));
    rows.push_back(row(scope, "srs_log_level_v2", &G::srs_log_level_v2, "",
                       one_of({"trace", "debug", "info", "warn", "error", "off"}), kLive,
                       "The log level by its usual name; it overrides srs_log_level. info is the normal level. "
                       "Lines then show these names in capitals, as in SRS.",
                       "info"));
    rows.push_back(row(scope, "srs_log_file", &G::srs_log_file, "./objs/srs.log", none(), kLive,
                       "The log file when srs_log_tank is file."));
    rows.push_back(row(scope, "max_connections", &G::max_connections, 1000, count(1, 1'000'000), kLive,
                       "Maximum number of connections of all protocols: TCP, TLS, and WebRTC sessions connected "
                       "by UDP. At the limit a new connection replaces one that has made no request yet, or a player "
                       "that gets nothing; if there is none, the new one is refused."));
    rows.push_back(row(scope, "max_hls_viewers", &G::max_hls_viewers, 20'000, count(1, 10'000'000), kLive,
                       "Maximum number of HLS viewers (hls_ctx). They are not connections. Beyond the limit a "
                       "viewer gets status 503."));
    rows.push_back(row(scope, "max_waiting_players", &G::max_waiting_players, 2000, count(1, 1'000'000), kLive,
                       "Maximum number of players that wait for their stream before they are answered: by HTTP for a "
                       "publisher (wait_publisher), by any protocol for a stream that is fetched. Beyond the limit a "
                       "player gets status 404. Also the maximum number of RTMP and RTSP players that get "
                       "nothing, because the stream is not published or they have paused. Beyond it the one that has "
                       "waited longest is closed, of the address that has most."));
    rows.push_back(
        row(scope, "max_waiting_requests", &G::max_waiting_requests, 20'000, count(1, 10'000'000), kLive,
            "Maximum number of HTTP requests that wait for an answer that comes later, such as the next part "
            "of a low-latency HLS playlist. Beyond the limit a request gets status 503."));
    rows.push_back(row(scope, "waiting_timeout", &G::waiting_timeout, 600'000, milliseconds(0, 86'400'000), kLive,
                       "An RTMP or RTSP player that gets nothing for this time, because the stream is not published or "
                       "it has paused, is closed; 0: never."));
    rows.push_back(
        row(scope, "daemon", &G::daemon, true, none(), kRestart, "The server runs in the background after its start."));
    rows.push_back(row(scope, "utc_time", &G::utc_time, false, none(), kLive,
                       "Times in the log and in file names are UTC instead of local time."));
    rows.push_back(row(scope, "pithy_print_ms", &G::pithy_print_ms, 10000, milliseconds(100, 3'600'000), kLive,
                       "Interval at which a running session logs its statistics."));
    rows.push_back(row(scope, "work_dir", &G::work_dir, "./", none(), kRestart,
                       "Working directory of the server; relative paths in this file start from it."));
    rows.push_back(row(scope, "grace_start_wait", &G::grace_start_wait, 2300, milliseconds(0, 3'600'000), kLive,
                       "After SIGQUIT new connections are accepted for this long."));
    rows.push_back(row(scope, "grace_limit", &G::grace_limit, 600'000, milliseconds(0, 86'400'000), kLive,
                       "After that no new connections are accepted, and existing ones are closed after this "
                       "time."));
    rows.push_back(row(scope, "grace_final_wait", &G::grace_final_wait, 3200, milliseconds(0, 3'600'000), kLive,
                       "Time between the end of the last connection and the exit of the process."));
    rows.push_back(row(scope, "upgrade_limit", &G::upgrade_limit, 43'200, seconds(0, 31'536'000), kLive,
                       "Clients of the process that an upgrade (SIGUSR2) has replaced are closed after this time, "
                       "players first, spread over two minutes; 0: it lasts until the last one has left."));
    rows.push_back(row(scope, "force_grace_quit", &G::force_grace_quit, false, none(), kLive,
                       "SIGTERM shuts the server down gracefully, like SIGQUIT."));
    rows.push_back(row(scope, "total_stream_memory", &G::total_stream_memory, 0, megabytes(0, 1'000'000), kLive,
                       "Maximum memory of all streams together, counted as stream_memory is for each stream. At "
                       "the limit the largest stream releases memory first. 0: half of the memory of the "
                       "machine, or of a control group (container, MemoryMax=) that has less."));
    rows.push_back(row(scope, "stall_warn", &G::stall_warn, 50, milliseconds(0, 60'000), kLive,
                       "An iteration of the event loop that takes this long is logged with the coroutine and "
                       "the function that ran; 0: off."));
}

void add_rtmp(std::vector<Row>& rows) {
    const Scope scope{"rtmp", [](const auto& root) -> decltype(auto) { return (root.snapshot->rtmp); }};
    rows.push_back(row(scope, "listen", &Rtmp::listen, {}, none(), kRestart,
                       "Addresses for RTMP: PORT, ADDRESS:PORT or [IPV6]:PORT; several are allowed. Required.",
                       "1935"));
    rows.push_back(row(scope, "chunk_size", &Rtmp::chunk_size, 60000, bytes(128, kMaxChunkSize), kLive,
                       "Chunk size of the RTMP messages that the server sends."));
    rows.push_back(row(scope, "handshake_timeout", &Rtmp::handshake_timeout, 10000, milliseconds(100, 600'000), kLive,
                       "A connection that has not begun to publish or play after this time is closed."));

    const Scope rtmps{"rtmps", [](const auto& root) -> decltype(auto) { return (root.snapshot->rtmps); }};
    rows.push_back(row(rtmps, "enabled", &Rtmps::enabled, false, none(), kRestart, "RTMP over TLS."));
    rows.push_back(row(rtmps, "listen", &Rtmps::listen, {}, none(), kRestart,
                       "Addresses for RTMP over TLS. Required if rtmps is enabled.", "1443"));
    rows.push_back(row(rtmps, "key", &Rtmps::key, "./conf/server.key", none(), kLive, "The private key, PEM."));
    rows.push_back(row(rtmps, "cert", &Rtmps::cert, "./conf/server.crt", none(), kLive,
                       "The certificate chain, PEM; the server's own certificate comes first."));
}

void add_http_server(std::vector<Row>& rows) {
    const Scope scope{"http_server", [](const auto& root) -> decltype(auto) { return (root.snapshot->http_server); }};
    using H = HttpServer;
    rows.push_back(row(scope, "enabled", &H::enabled, false, none(), kRestart,
                       "The HTTP server for live streams and static files."));
    rows.push_back(row(scope, "listen", &H::listen, {{"", 8080}}, none(), kRestart, "Addresses for HTTP."));
    rows.push_back(row(scope, "dir", &H::dir, "./objs/nginx/html", none(), kLive, "Root of the static files."));
    rows.push_back(guarding(row(scope, "crossdomain", &H::crossdomain, true, none(), kLive,
                                "Responses have the CORS header fields that allow web pages of other origins to read "
                                "them.")));
    rows.push_back(row(scope, "request_timeout", &H::request_timeout, 10000, milliseconds(100, 600'000), kLive,
                       "Maximum time from the first byte of a request, or the start of the connection, to the "
                       "end of the request's header."));
    rows.push_back(row(scope, "max_header_size", &H::max_header_size, 16384, bytes(1024, 1024 * 1024), kLive,
                       "Maximum size of a request line with its header fields; a longer one gets status 431."));

    const Scope https{"http_server/https",
                      [](const auto& root) -> decltype(auto) { return (root.snapshot->http_server.https); }};
    rows.push_back(row(https, "enabled", &Https::enabled, false, none(), kRestart, "HTTPS beside HTTP."));
    rows.push_back(row(https, "listen", &Https::listen, {{"", 8088}}, none(), kRestart, "Addresses for HTTPS."));
    rows.push_back(row(https, "key", &Https::key, "./conf/server.key", none(), kLive, "The private key, PEM."));
    rows.push_back(row(https, "cert", &Https::cert, "./conf/server.crt", none(), kLive,
                       "The certificate chain, PEM; the server's own certificate comes first."));
    rows.push_back(row(https, "http2", &Https::http2, true, none(), kRestart,
                       "HTTP/2 is offered to clients over TLS (by ALPN), beside HTTP/1.1."));
}

void add_http_api(std::vector<Row>& rows) {
    const Scope scope{"http_api", [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api); }};
    using A = HttpApi;
    rows.push_back(row(scope, "enabled", &A::enabled, false, none(), kRestart, "The HTTP API."));
    rows.push_back(row(scope, "listen", &A::listen, {{"", 1985}}, none(), kRestart, "Addresses of the API."));
    rows.push_back(guarding(
        row(scope, "crossdomain", &A::crossdomain, true, none(), kLive, "Responses have CORS header fields.")));
    rows.push_back(row(scope, "debug", &A::debug, false, none(), kLive,
                       "Profiles and the list of coroutines under /api/v1/debug/, for callers on loopback and "
                       "authenticated callers. On an address that other machines can reach it needs auth."));
    rows.push_back(row(scope, "history_memory", &A::history_memory, 32, megabytes(0, 10'000), kLive,
                       "Maximum memory of the figures of the last hour and day, of the server and of each stream "
                       "(/api/v1/history): a stream of a day takes 10 to 15 kB. At the limit streams that ended are "
                       "forgotten first. 0: none are kept."));

    const Scope auth{"http_api/auth",
                     [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api.auth); }};
    rows.push_back(guarding(row(auth, "enabled", &HttpApiAuth::enabled, false, none(), kLive,
                                "The API requires a user name and a password (HTTP Basic), or a token.")));
    rows.push_back(row(auth, "username", &HttpApiAuth::username, "", none(), kLive, "The user name.", "admin"));
    rows.push_back(row(auth, "password", &HttpApiAuth::password, "", none(), kLive, "The password.", "admin"));
    rows.push_back(row(auth, "type", &HttpApiAuth::type, "", one_of({"basic", "bearer"}), kLive,
                       "What the API takes: basic, a user name and a password; bearer, a token. Without it both.",
                       "bearer"));
    rows.push_back(row(auth, "token", &HttpApiAuth::token, "", none(), kLive,
                       "The token (Authorization: Bearer ...), as in SRS 8.", "0f3c9a1b7d2e4856"));
    rows.push_back(guarding(row(auth, "rtc_bearer_enabled", &HttpApiAuth::rtc_bearer_enabled, false, none(), kLive,
                                "With type bearer, WHIP, WHEP and the older calls of WebRTC need the token, too.")));
    rows.push_back(row(auth, "tokens", &HttpApiAuth::tokens, {}, none(), kLive,
                       "Further tokens that are accepted (Authorization: Bearer ...), each of at least 16 "
                       "characters.",
                       "0f3c9a1b7d2e4856"));
    rows.push_back(row(auth, "read_tokens", &HttpApiAuth::read_tokens, {}, none(), kLive,
                       "Tokens for dashboards: they allow reading only, and nothing secret.", "5e8d7c6b4a392817"));

    const Scope control{"http_api/control",
                        [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api.control); }};
    rows.push_back(row(control, "allow", &HttpApiControl::allow, {}, none(), kLive,
                       "Addresses and networks that may change the state of the server without credentials, as "
                       "this machine may. If auth is enabled, credentials are required anyway.",
                       "10.0.0.0/8"));

    const Scope https{"http_api/https",
                      [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api.https); }};
    rows.push_back(row(https, "enabled", &Https::enabled, false, none(), kRestart, "The API over TLS too."));
    rows.push_back(
        row(https, "listen", &Https::listen, {{"", 1990}}, none(), kRestart, "Addresses of the API over TLS."));
    rows.push_back(row(https, "key", &Https::key, "./conf/server.key", none(), kLive, "The private key, PEM."));
    rows.push_back(row(https, "cert", &Https::cert, "./conf/server.crt", none(), kLive,
                       "The certificate chain, PEM; the server's own certificate comes first."));
    rows.push_back(row(https, "http2", &Https::http2, true, none(), kRestart,
                       "HTTP/2 is offered to clients over TLS (by ALPN), beside HTTP/1.1."));
}

}  // namespace

void add_server_rows(std::vector<Row>& rows) {
    add_global(rows);
    add_rtmp(rows);
    add_http_server(rows);
    add_http_api(rows);
}

}  // namespace config
