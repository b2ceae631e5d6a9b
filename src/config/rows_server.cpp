// The rows outside of vhosts: of the process, and of the servers of RTMP, HTTP and the API.

#include "config/row_builder.h"

namespace config {
namespace {

void add_global(std::vector<Row>& rows) {
    const Scope scope{"", [](const auto& root) -> decltype(auto) { return (root.snapshot->global); }};
    using G = Global;
    rows.push_back(
        row(scope, "server_id", &G::server_id, "", none(), kRestart,
            "Name of this server in the API and in hooks; when not given, one is made up and kept beside the "
            "pid file.",
            "origin-1"));
    rows.push_back(row(scope, "pid", &G::pid, "./objs/srs.pid", none(), kRestart,
                       "File of the process id; it is locked, so that a second server with the same file is refused."));
    rows.push_back(row(scope, "srs_log_tank", &G::srs_log_tank, LogTank::kFile, none(), kLive,
                       "Where log lines go: to srs_log_file or to the console."));
    rows.push_back(row(scope, "srs_log_level", &G::srs_log_level, "trace",
                       one_of({"verbose", "info", "trace", "warn", "error", "off"}), kLive,
                       "The lowest level that is logged; trace is the normal one, info and verbose say more."));
    rows.push_back(
        row(scope, "srs_log_level_v2", &G::srs_log_level_v2, "",
            one_of({"trace", "debug", "info", "warn", "error", "off"}), kLive,
            "The same by the usual names, and preferred to srs_log_level when given; info is the normal one. Lines "
            "then have those names in capitals, as SRS writes them.",
            "info"));
    rows.push_back(row(scope, "srs_log_file", &G::srs_log_file, "./objs/srs.log", none(), kLive,
                       "The log file when srs_log_tank is file."));
    rows.push_back(row(scope, "max_connections", &G::max_connections, 1000, count(1, 1'000'000), kLive,
                       "Connections of all protocols together: TCP, TLS, and WebRTC sessions connected by UDP. For one "
                       "more, one that has not asked for anything yet is closed, or else it is refused."));
    rows.push_back(row(scope, "max_hls_viewers", &G::max_hls_viewers, 20'000, count(1, 10'000'000), kLive,
                       "HLS viewers (hls_ctx) at once. They are no connections; one more is answered with 503."));
    rows.push_back(
        row(scope, "max_waiting_players", &G::max_waiting_players, 2000, count(1, 1'000'000), kLive,
            "HTTP players at once that wait for a publisher (wait_publisher); one more is answered with 404."));
    rows.push_back(row(scope, "daemon", &G::daemon, true, none(), kRestart, "Go into the background after the start."));
    rows.push_back(row(scope, "utc_time", &G::utc_time, false, none(), kLive,
                       "Times in the log and in file names are UTC instead of local time."));
    rows.push_back(row(scope, "pithy_print_ms", &G::pithy_print_ms, 10000, milliseconds(100, 3'600'000), kLive,
                       "How often a session that goes on logs a line about itself."));
    rows.push_back(row(scope, "work_dir", &G::work_dir, "./", none(), kRestart,
                       "Directory the server changes to at the start; paths in this file are taken from there."));
    rows.push_back(row(scope, "grace_start_wait", &G::grace_start_wait, 2300, milliseconds(0, 3'600'000), kLive,
                       "After SIGQUIT new connections are still taken for so long."));
    rows.push_back(row(scope, "grace_limit", &G::grace_limit, 600'000, milliseconds(0, 86'400'000), kLive,
                       "Then none are taken, and those there may last so long before they are closed."));
    rows.push_back(row(scope, "grace_final_wait", &G::grace_final_wait, 3200, milliseconds(0, 3'600'000), kLive,
                       "After the last connection ended the process still waits so long before it exits."));
    rows.push_back(row(scope, "force_grace_quit", &G::force_grace_quit, false, none(), kLive,
                       "SIGTERM ends the server as gently as SIGQUIT does."));
    rows.push_back(row(scope, "total_stream_memory", &G::total_stream_memory, 0, megabytes(0, 1'000'000), kLive,
                       "Most memory that all streams may hold together, as stream_memory of each vhost; the largest "
                       "stream makes room first. 0: half of the machine's memory, or of the container's."));
    rows.push_back(row(scope, "stall_warn", &G::stall_warn, 50, milliseconds(0, 60'000), kLive,
                       "When nothing else could run for so long, the log names who held it up, and where; 0: off."));
}

void add_rtmp(std::vector<Row>& rows) {
    const Scope scope{"rtmp", [](const auto& root) -> decltype(auto) { return (root.snapshot->rtmp); }};
    rows.push_back(row(scope, "listen", &Rtmp::listen, {}, none(), kRestart,
                       "Addresses for RTMP: PORT, ADDRESS:PORT or [IPV6]:PORT, several are allowed. Must be given.",
                       "1935"));
    rows.push_back(row(scope, "chunk_size", &Rtmp::chunk_size, 60000, bytes(128, kMaxChunkSize), kLive,
                       "Chunk size of what the server sends by RTMP."));
    rows.push_back(row(scope, "handshake_timeout", &Rtmp::handshake_timeout, 10000, milliseconds(100, 600'000), kLive,
                       "A connection that does not publish or play by then is closed."));

    const Scope rtmps{"rtmps", [](const auto& root) -> decltype(auto) { return (root.snapshot->rtmps); }};
    rows.push_back(row(rtmps, "enabled", &Rtmps::enabled, false, none(), kRestart, "RTMP over TLS."));
    rows.push_back(row(rtmps, "listen", &Rtmps::listen, {}, none(), kRestart,
                       "Addresses for RTMP over TLS; must be given when it is enabled.", "1443"));
    rows.push_back(row(rtmps, "key", &Rtmps::key, "./conf/server.key", none(), kLive, "The private key, PEM."));
    rows.push_back(row(rtmps, "cert", &Rtmps::cert, "./conf/server.crt", none(), kLive,
                       "The certificate chain, PEM, the server's own first."));
}

void add_http_server(std::vector<Row>& rows) {
    const Scope scope{"http_server", [](const auto& root) -> decltype(auto) { return (root.snapshot->http_server); }};
    using H = HttpServer;
    rows.push_back(row(scope, "enabled", &H::enabled, false, none(), kRestart,
                       "The HTTP server for live streams and static files."));
    rows.push_back(row(scope, "listen", &H::listen, {{"", 8080}}, none(), kRestart, "Addresses for HTTP."));
    rows.push_back(row(scope, "dir", &H::dir, "./objs/nginx/html", none(), kLive, "Root of the static files."));
    rows.push_back(guarding(row(scope, "crossdomain", &H::crossdomain, true, none(), kLive,
                                "Answers carry the CORS fields that let web pages of other origins read them.")));
    rows.push_back(
        row(scope, "request_timeout", &H::request_timeout, 10000, milliseconds(100, 600'000), kLive,
            "The head of a request must be complete so long after its first byte or the connection's start."));
    rows.push_back(row(scope, "max_header_size", &H::max_header_size, 16384, bytes(1024, 1024 * 1024), kLive,
                       "Most bytes of a request line with its header fields; more is answered with 431."));

    const Scope https{"http_server/https",
                      [](const auto& root) -> decltype(auto) { return (root.snapshot->http_server.https); }};
    rows.push_back(row(https, "enabled", &Https::enabled, false, none(), kRestart, "HTTPS beside HTTP."));
    rows.push_back(row(https, "listen", &Https::listen, {{"", 8088}}, none(), kRestart, "Addresses for HTTPS."));
    rows.push_back(row(https, "key", &Https::key, "./conf/server.key", none(), kLive, "The private key, PEM."));
    rows.push_back(row(https, "cert", &Https::cert, "./conf/server.crt", none(), kLive,
                       "The certificate chain, PEM, the server's own first."));
}

void add_http_api(std::vector<Row>& rows) {
    const Scope scope{"http_api", [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api); }};
    using A = HttpApi;
    rows.push_back(row(scope, "enabled", &A::enabled, false, none(), kRestart, "The HTTP API."));
    rows.push_back(row(scope, "listen", &A::listen, {{"", 1985}}, none(), kRestart, "Addresses of the API."));
    rows.push_back(
        guarding(row(scope, "crossdomain", &A::crossdomain, true, none(), kLive, "Answers carry CORS fields.")));
    rows.push_back(row(scope, "debug", &A::debug, false, none(), kLive,
                       "Profiles and coroutines under /api/v1/debug/, for loopback and for those who authenticate. On "
                       "an address that others can reach it needs auth."));

    const Scope auth{"http_api/auth",
                     [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api.auth); }};
    rows.push_back(guarding(row(auth, "enabled", &HttpApiAuth::enabled, false, none(), kLive,
                                "The API asks for a name and a password (HTTP Basic), or for a token.")));
    rows.push_back(row(auth, "username", &HttpApiAuth::username, "", none(), kLive, "The name.", "admin"));
    rows.push_back(row(auth, "password", &HttpApiAuth::password, "", none(), kLive, "The password.", "admin"));
    rows.push_back(row(auth, "tokens", &HttpApiAuth::tokens, {}, none(), kLive,
                       "Tokens that do as well (Authorization: Bearer ...), at least 16 characters each.",
                       "0f3c9a1b7d2e4856"));
    rows.push_back(row(auth, "read_tokens", &HttpApiAuth::read_tokens, {}, none(), kLive,
                       "Tokens that may only read what changes and reveals nothing, for dashboards.",
                       "5e8d7c6b4a392817"));

    const Scope control{"http_api/control",
                        [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api.control); }};
    rows.push_back(row(control, "allow", &HttpApiControl::allow, {}, none(), kLive,
                       "Addresses and networks whose calls may change something without credentials, as those of this "
                       "machine may. With auth enabled credentials are needed all the same.",
                       "10.0.0.0/8"));

    const Scope https{"http_api/https",
                      [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api.https); }};
    rows.push_back(row(https, "enabled", &Https::enabled, false, none(), kRestart, "The API over TLS too."));
    rows.push_back(
        row(https, "listen", &Https::listen, {{"", 1990}}, none(), kRestart, "Addresses of the API over TLS."));
    rows.push_back(row(https, "key", &Https::key, "./conf/server.key", none(), kLive, "The private key, PEM."));
    rows.push_back(row(https, "cert", &Https::cert, "./conf/server.crt", none(), kLive,
                       "The certificate chain, PEM, the server's own first."));
}

}  // namespace

void add_server_rows(std::vector<Row>& rows) {
    add_global(rows);
    add_rtmp(rows);
    add_http_server(rows);
    add_http_api(rows);
}

}  // namespace config
