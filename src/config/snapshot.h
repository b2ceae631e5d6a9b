#pragma once
// The current configuration, typed and immutable: config::load() creates it, services get a std::shared_ptr<const
// Snapshot>. A session keeps the pointer it began with (unless its code says that it takes the newer one), so a Vhost&
// lives as long as the pointer. Units: ms unless the comment says otherwise.
//
// What a service alone reads is in a section of its own: get<service::hls::VhostConfig>(). Here is what the process,
// the live engine, access control and the HTTP servers read. Members have no defaults here: the directives' rows
// (rows_*.cpp) define them. Tests that need a plain snapshot call default_snapshot().

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "config/section_values.h"
#include "config/types.h"

namespace config {

struct Global {
    std::string server_id{};  // empty: the server generates one
    std::string pid{};
    LogTank srs_log_tank{};
    std::string srs_log_level{};     // as configured; Snapshot::log_level() returns the effective level
    std::string srs_log_level_v2{};  // may be empty
    std::string srs_log_file{};
    int max_connections{};
    int max_hls_viewers{};
    int max_waiting_players{};
    int max_waiting_requests{};
    int waiting_timeout{};  // ms; 0: no limit
    bool daemon{};
    bool utc_time{};
    int pithy_print_ms{};
    std::string work_dir{};
    int grace_start_wait{};
    int grace_limit{};
    int grace_final_wait{};
    int upgrade_limit{};  // s; 0: none
    bool force_grace_quit{};
    int stall_warn{};  // 0: the loop is not watched
    bool inotify_auto_reload{};
    bool auto_reload_for_docker{};
    bool in_docker{};
    bool disable_daemon_for_docker{};
    bool asprocess{};
    bool reuse_port{};
    std::string sender_threads{};  // "auto", or a number
    int sender_min_batch{};        // receivers
    bool empty_ip_ok{};
    bool is_full{};
    double tcmalloc_release_rate{};
    IpNetworks trusted_proxies{};
    std::string user{};         // "name" or "name:group"; empty: the server keeps its user
    int total_stream_memory{};  // MB, of all streams; 0: half of the machine's
};

struct Rtmp {
    ListenAddresses listen{};  // at least one, if loaded without an error
    int chunk_size{};          // bytes, of messages the server sends
    int handshake_timeout{};   // from accept until publish or play begins
};

struct Rtmps {
    bool enabled{};
    ListenAddresses listen{};
    std::string key{};
    std::string cert{};
};

struct Https {
    bool enabled{};
    ListenAddresses listen{};
    std::string key{};
    std::string cert{};
    bool http2{};
};

struct HttpServer {
    bool enabled{};
    ListenAddresses listen{};
    std::string dir{};
    bool crossdomain{};
    int request_timeout{};  // limit until a request's head is complete
    int max_header_size{};  // bytes: request line and header fields together
    int body_timeout{};     // limit until a request's body is complete
    int idle_timeout{};     // between requests
    int write_timeout{};    // for each part of an answer
    Https https{};
};

struct HttpApiAuth {
    bool enabled{};
    std::string username{};
    std::string password{};
    std::vector<std::string> tokens{};
    std::vector<std::string> read_tokens{};
    std::string type{};  // "basic", "bearer"; empty: both
    std::string token{};
    bool rtc_bearer_enabled{};
};

struct HttpApiControl {
    IpNetworks allow{};  // besides this machine: addresses whose modifying calls are accepted without credentials
};

struct RawApi {
    bool enabled{};
    bool allow_reload{};
};

struct HttpApi {
    bool enabled{};
    ListenAddresses listen{};
    bool crossdomain{};
    int request_timeout{};  // as those of HttpServer
    int max_header_size{};
    int body_timeout{};
    int idle_timeout{};
    int write_timeout{};
    bool debug{};          // profiles, coroutines: for loopback and for authenticated clients
    int history_memory{};  // MB; 0: no history
    HttpApiAuth auth{};
    HttpApiControl control{};
    RawApi raw_api{};
    Https https{};
};

struct Disk {
    int buffer{};  // bytes
    int flush{};
    int file_limit{};   // bytes
    int total_limit{};  // bytes
};

// Thresholds in percent, pulses in s.
struct CircuitBreaker {
    bool enabled{};
    int high_threshold{};
    int high_pulse{};
    int critical_threshold{};
    int critical_pulse{};
    int dying_threshold{};
    int dying_pulse{};
};

// Per address; for IPv6 only the first 64 bits count.
struct AddressLimits {
    int connections{};  // at once; 0: no limit, -1: three quarters of max_connections
    double rate{};      // new ones a second; 0: no limit
    int burst{};        // how many may exceed the rate at once
    int hls_viewers{};  // this and the two below: at once; 0: no limit
    int rtc_offers{};
    int waiting_players{};
    int waiting_requests{};
    int input_memory{};  // MB of unfinished input; 0: no limit
    IpNetworks exempt{};
};

struct VhostSecurity {
    bool enabled{};
    AccessRules allow{};
    AccessRules deny{};
};

// Domains; an empty list allows every client.
struct VhostRefer {
    bool enabled{};
    std::vector<std::string> all{};
    std::vector<std::string> publish{};
    std::vector<std::string> play{};
};

struct VhostPlay {
    bool gop_cache{};
    int gop_cache_max_frames{};  // frames of any kind; 0: bounded by bytes alone
    int queue_length{};          // s: how far a viewer may lag behind
    TimeJitter time_jitter{};
    bool atc{};
    bool atc_auto{};
    bool mix_correct{};
    int mw_latency{};  // 0 with min_latency on, or with rtc, unless set
    double send_min_interval{};
    bool reduce_sequence_header{};
    int send_timeout{};    // a viewer that accepts no byte for this long is closed
    int rejoin_timeout{};  // how long players wait for a publisher that left
    int audio_cache{};     // s of audio kept for new listeners of it alone; 0: none. Set by http_remux/fast_cache
};

struct VhostPublish {
    bool mr{};
    int mr_latency{};
    int firstpkt_timeout{};
    int normal_timeout{};
    bool parse_sps{};
    int kickoff_for_idle{};  // s; 0: never
    bool takeover{};
    StandbyMode standby{};
    int standby_timeout{};  // ms without a frame until the active publisher counts as frozen
    int standby_max{};      // publishers of a stream that wait
};

struct VhostHttpStatic {
    bool enabled{};
    std::string mount{};
    std::string dir{};
};

struct VhostSignedUrls {
    bool enabled{};
    std::vector<std::string> secret{};
    bool publish{};
    bool play{};
};

struct Vhost {
    std::string name{};
    bool enabled{};
    bool min_latency{};  // on with rtc, unless set
    bool tcp_nodelay{};
    int chunk_size{};     // bytes; unless set, the global one
    int in_ack_size{};    // bytes; 0: the peer is not asked to acknowledge
    int out_ack_size{};   // bytes
    int stream_memory{};  // MB, of each stream
    VhostPlay play{};
    VhostPublish publish{};
    VhostHttpStatic http_static{};
    VhostSignedUrls signed_urls{};
    VhostSecurity security{};
    VhostRefer refer{};
    Sections sections{};  // of services

    template <class T>
    T& get() {
        return sections.get<T>();
    }
    template <class T>
    const T& get() const {
        return sections.get<T>();
    }
};

inline constexpr std::string_view kDefaultVhost = "__defaultVhost__";

struct Snapshot {
    Global global{};
    Rtmp rtmp{};
    Rtmps rtmps{};
    HttpServer http_server{};
    HttpApi http_api{};
    Disk disk{};
    CircuitBreaker circuit_breaker{};
    AddressLimits address_limits{};
    std::vector<Vhost> vhosts{};
    Sections sections{};  // of services

    template <class T>
    T& get() {
        return sections.get<T>();
    }
    template <class T>
    const T& get() const {
        return sections.get<T>();
    }

    // The vhost of that name, otherwise __defaultVhost__. Null: neither exists, or the one found is disabled.
    const Vhost* vhost(std::string_view name) const;
    // The vhost of exactly that name, disabled or not.
    const Vhost* find_vhost(std::string_view name) const;
    // Where a directive outside of vhosts was set, for error texts: "conf/srs.conf:3", "SRS_LISTEN" or "default".
    std::string where(std::string_view path) const;
    // Where a directive was set, for problems; vhost: empty for those outside of vhosts. Of one that has its default:
    // where its block was enabled.
    Location location_of(std::string_view vhost, std::string_view path) const;
    base::log::Level log_level() const;  // srs_log_level_v2 if given, otherwise srs_log_level

    // Where a directive's value was set; missing: it has its default. Key: vhost's name (empty outside vhosts), and the
    // directive's path ("vhost/play/mw_latency").
    std::map<std::pair<std::string, std::string>, Location> origins{};
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

// Every directive at its default, RTMP on 1935, and an enabled __defaultVhost__.
SnapshotPtr default_snapshot();

}  // namespace config
