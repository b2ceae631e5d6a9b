// The rows of process management: reload, containers, its parent process, overload.

#include "config/row_builder.h"

namespace config {

namespace {

void add_process(std::vector<Row>& rows) {
    const Scope scope{"", [](const auto& root) -> decltype(auto) { return (root.snapshot->global); }};
    using G = Global;
    rows.push_back(row(scope, "inotify_auto_reload", &G::inotify_auto_reload, false, none(), kLive,
                       "The configuration is reloaded when its file, or an included file, changes: see "
                       "doc/reload.md."));
    rows.push_back(row(scope, "auto_reload_for_docker", &G::auto_reload_for_docker, true, none(), kLive,
                       "Like inotify_auto_reload, if in_docker is on or a container is detected."));
    rows.push_back(row(scope, "in_docker", &G::in_docker, false, none(), kRestart,
                       "The server runs in a container, even if none is detected (/.dockerenv, /run/.containerenv)."));
    rows.push_back(row(scope, "disable_daemon_for_docker", &G::disable_daemon_for_docker, true, none(), kRestart,
                       "In a container the server runs in the foreground; daemon is ignored."));
    rows.push_back(row(scope, "asprocess", &G::asprocess, false, none(), kRestart,
                       "The server ends, as after SIGTERM, within a second of its parent process. It requires "
                       "daemon off."));
    rows.push_back(row(scope, "reuse_port", &G::reuse_port, false, none(), kRestart,
                       "Several servers of one user may listen on the same TCP ports, each with this directive and a "
                       "pid of its own; the kernel distributes the connections. Not for UDP."));
    rows.push_back(row(
        scope, "sender_threads", &G::sender_threads, "auto",
        one_of({"auto", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"}),
        kRestart,
        "Threads that encrypt and send for the event loop; 0: the loop does it itself. auto: one less than "
        "the processors that the process may use (affinity mask, the cgroup's cpu.max), at most 15, and "
        "none on one or two processors."));
    rows.push_back(
        row(scope, "sender_min_batch", &G::sender_min_batch, 8, count(0, 1000), kRestart,
            "Receivers in succession from which on sender threads send, if the event loop is busy for a quarter of "
            "its time: less is not worth waking a thread. Four times as many in any case, fewer from half "
            "of its time on; 0: always."));
    rows.push_back(row(scope, "empty_ip_ok", &G::empty_ip_ok, true, none(), kLive,
                       "No effect: a connection without a known peer address has already ended."));
    rows.push_back(row(scope, "is_full", &G::is_full, false, none(), kLive,
                       "No effect; marks a file that shows every directive."));
    rows.push_back(row(scope, "tcmalloc_release_rate", &G::tcmalloc_release_rate, 0.8, count(0, 10), kLive,
                       "Rate at which tcmalloc returns memory to the system; 0: never. Only in builds with "
                       "--gperf=on; other builds use the allocator of the C library."));

    const Scope raw{"http_api/raw_api",
                    [](const auto& root) -> decltype(auto) { return (root.snapshot->http_api.raw_api); }};
    rows.push_back(row(raw, "enabled", &RawApi::enabled, false, none(), kLive,
                       "/api/v1/raw: shows what it allows and the last reload; for callers on loopback and "
                       "authenticated callers."));
    rows.push_back(row(raw, "allow_reload", &RawApi::allow_reload, false, none(), kLive,
                       "/api/v1/raw?rpc=reload reads the configuration again."));
}

void add_breaker(std::vector<Row>& rows) {
    const Scope scope{"circuit_breaker",
                      [](const auto& root) -> decltype(auto) { return (root.snapshot->circuit_breaker); }};
    using C = CircuitBreaker;
    rows.push_back(row(scope, "enabled", &C::enabled, true, none(), kLive,
                       "Measures the load of the event loop every second, and refuses new players at the level "
                       "dying."));
    auto level = [&](std::string_view name, int C::*threshold, int percent, int C::*pulse, int seconds,
                     std::string_view doc) {
        rows.push_back(row(scope, std::string(name) + "_threshold", threshold, percent, count(1, 100), kLive, doc));
        rows.push_back(row(scope, std::string(name) + "_pulse", pulse, seconds, count(1, 3600), kLive,
                           "Number of consecutive seconds above the threshold until the level is reached; one "
                           "second below the threshold ends it."));
    };
    level("high", &C::high_threshold, 90, &C::high_pulse, 2,
          "Percentage of time for which the event loop is busy; from here on the load is logged.");
    level("critical", &C::critical_threshold, 95, &C::critical_pulse, 1,
          "From here on the log and the API report the level critical.");
    level("dying", &C::dying_threshold, 99, &C::dying_pulse, 5,
          "From here on new players are refused, so that existing players keep their streams.");
}

}  // namespace

void add_process_rows(std::vector<Row>& rows) {
    add_process(rows);
    add_breaker(rows);
}

}  // namespace config
