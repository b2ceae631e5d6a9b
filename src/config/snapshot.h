#pragma once
// The current configuration, typed and immutable: config::load() creates it, services get a std::shared_ptr<const
// Snapshot>. A session keeps the pointer it began with (unless its code says that it takes the newer one), so a Vhost&
// lives as long as the pointer. Units: ms unless the comment says otherwise.
//
// Members have no defaults here: the directives' rows (rows_*.cpp) define them. Tests that need a plain snapshot call
// default_snapshot().

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
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
    bool daemon{};
    bool utc_time{};
    int pithy_print_ms{};
    std::string work_dir{};
    int grace_start_wait{};
    int grace_limit{};
    int grace_final_wait{};
    bool force_grace_quit{};
    int stall_warn{};  // 0: the loop is not watched
    std::string dvr_journal{};
    std::string hls_roll{};
    bool inotify_auto_reload{};
    bool auto_reload_for_docker{};
    bool in_docker{};
    bool disable_daemon_for_docker{};
    bool asprocess{};
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
    bool debug{};  // profiles, coroutines: for loopback and for authenticated clients
    HttpApiAuth auth{};
    HttpApiControl control{};
    RawApi raw_api{};
    Https https{};
};

struct Exporter {
    bool enabled{};
    ListenAddresses listen{};
    std::string label{};
    std::string tag{};
    int stream_limit{};
};

struct Disk {
    std::string backend{};  // "auto", "uring" or "threads"
    int buffer{};           // bytes
    int flush{};
    int file_limit{};   // bytes
    int total_limit{};  // bytes
    bool direct{};
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

struct Heartbeat {
    bool enabled{};
    double interval{};  // s
    std::string url{};
    std::string device_id{};
    bool summaries{};
    bool ports{};
};

// Per address; for IPv6 only the first 64 bits count.
struct AddressLimits {
    int connections{};  // at once; 0: no limit
    double rate{};      // new ones a second; 0: no limit
    int burst{};        // how many may exceed the rate at once
    int hls_viewers{};  // this and the two below: at once; 0: no limit
    int rtc_offers{};
    int waiting_players{};
    IpNetworks exempt{};
};

struct RtcTcp {
    bool enabled{};
    ListenAddresses listen{};
};

struct RtcBlackHole {
    bool enabled{};
    std::string addr{};  // after loading, if enabled: ADDRESS:PORT
};

struct RtcServer {
    bool enabled{};
    ListenAddresses listen{};  // UDP
    std::string protocol{};    // udp, tcp or all
    int reuseport{};           // one socket per address is enough here
    int max_offers{};          // not connected yet
    RtcTcp tcp{};
    std::vector<std::string> candidate{};  // see service/rtc/candidates.h
    bool use_auto_detect_network_ip{};
    std::string ip_family{};  // ipv4, ipv6 or all
    bool api_as_candidates{};
    bool resolve_api_domain{};
    bool keep_api_domain{};
    std::vector<std::string> ice_server{};  // a stun: address, or a turn: address, username and credential
    bool ecdsa{};
    bool encrypt{};
    bool merge_nalus{};
    RtcBlackHole black_hole{};
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
};

struct VhostPublish {
    bool mr{};
    int mr_latency{};
    int firstpkt_timeout{};
    int normal_timeout{};
    bool parse_sps{};
    int kickoff_for_idle{};  // s; 0: never
    bool takeover{};
};

struct VhostHttpRemux {
    bool enabled{};
    int fast_cache{};  // s of audio kept for .aac and .mp3; 0: none
    bool drop_if_not_match{};
    bool has_audio{};
    bool has_video{};
    bool guess_has_av{};
    std::string mount{};
    bool wait_publisher{};
    int wait_publisher_timeout{};
};

struct VhostHttpStatic {
    bool enabled{};
    std::string mount{};
    std::string dir{};
};

struct VhostDvr {
    bool enabled{};
    std::vector<std::string> dvr_apply{};  // "all", or app/stream
    std::string dvr_plan{};                // "session" or "segment"
    std::string dvr_path{};                // after loading it ends in .flv or .mp4
    int dvr_duration{};                    // s
    bool dvr_wait_keyframe{};
    TimeJitter time_jitter{};
    int dvr_keyframes{};
};

struct VhostHls {
    bool enabled{};
    bool use_fmp4{};
    double fragment{};   // s
    double td_ratio{};   // of fragment
    double aof_ratio{};  // of fragment
    double window{};     // s
    bool recover{};
    std::string on_error{};  // ignore, disconnect or continue
    std::string storage{};   // disk, memory or both
    std::string path{};
    std::string m3u8_file{};  // this and the next four: relative to path
    std::string ts_file{};
    std::string fmp4_file{};
    std::string init_file{};
    std::string entry_prefix{};
    bool cleanup{};
    int dispose{};  // s; 0: never
    bool wait_keyframe{};
    bool ts_floor{};
    bool ctx{};
    bool ts_ctx{};
    bool master_m3u8_path_relative{};
    bool keys{};
    int fragments_per_key{};
    std::string key_file{};       // below key_file_path; empty: [app]/[stream]-[seq].key
    std::string key_file_path{};  // empty: path
    std::string key_url{};
    bool dts_directly{};
    friend bool operator==(const VhostHls&, const VhostHls&) = default;
};

struct VhostHttpHooks {
    bool enabled{};
    std::vector<std::string> on_connect{};  // on_connect and the following: URLs
    std::vector<std::string> on_close{};
    std::vector<std::string> on_publish{};
    std::vector<std::string> on_unpublish{};
    std::vector<std::string> on_play{};
    std::vector<std::string> on_stop{};
    std::vector<std::string> on_dvr{};
    std::vector<std::string> on_hls{};
    std::vector<std::string> on_hls_notify{};
    int timeout{};
    int retries{};
    std::vector<std::string> fail_open{};  // names of hooks
    std::string secret{};                  // empty: calls are not signed
    std::string ca_file{};                 // empty: the system's certificates
    int hls_nb_notify{};                   // bytes; the directive is in the hls block
};

struct VhostSignedUrls {
    bool enabled{};
    std::vector<std::string> secret{};
    bool publish{};
    bool play{};
};

struct VhostForward {
    bool enabled{};
    std::vector<std::string> destination{};  // after loading each is a ForwardDestination
    std::string backend{};                   // asked instead of destination; empty: not used
};

struct VhostRtc {
    bool enabled{};
    bool nack{};
    bool nack_no_copy{};  // no effect: packets are always shared
    bool twcc{};
    int stun_timeout{};          // s
    bool stun_strict_check{};    // no effect: the check is always strict
    std::string dtls_role{};     // active or passive, of this server
    std::string dtls_version{};  // auto, dtls1.0 or dtls1.2
    int drop_for_pt{};           // 0: none
    bool rtmp_to_rtc{};
    bool keep_bframe{};
    bool keep_avc_nalu_sei{};
    int opus_bitrate{};        // bit/s
    std::string opus_ptime{};  // ms: 20, 40 or 60
    bool rtc_to_rtmp{};
    double pli_for_rtmp{};  // s
    int aac_bitrate{};      // bit/s
    bool init_rate_from_sdp{};
    bool keep_original_ssrc{};
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
    VhostHttpRemux http_remux{};
    VhostHttpStatic http_static{};
    VhostDvr dvr{};
    VhostHls hls{};
    VhostHttpHooks http_hooks{};
    VhostSignedUrls signed_urls{};
    VhostForward forward{};
    VhostRtc rtc{};
    VhostSecurity security{};
    VhostRefer refer{};
};

inline constexpr std::string_view kDefaultVhost = "__defaultVhost__";

struct Snapshot {
    Global global{};
    Rtmp rtmp{};
    Rtmps rtmps{};
    HttpServer http_server{};
    HttpApi http_api{};
    Exporter exporter{};
    Disk disk{};
    RtcServer rtc_server{};
    CircuitBreaker circuit_breaker{};
    Heartbeat heartbeat{};
    AddressLimits address_limits{};
    std::vector<Vhost> vhosts{};

    // The vhost of that name, otherwise __defaultVhost__. Null: neither exists, or the one found is disabled.
    const Vhost* vhost(std::string_view name) const;
    // The vhost of exactly that name, disabled or not.
    const Vhost* find_vhost(std::string_view name) const;
    // Where a directive outside of vhosts was set, for error texts: "conf/srs.conf:3", "SRS_LISTEN" or "default".
    std::string where(std::string_view path) const;
    base::log::Level log_level() const;  // srs_log_level_v2 if given, otherwise srs_log_level

    // Where a directive's value was set; missing: it has its default. Key: vhost's name (empty outside vhosts), and the
    // directive's path ("vhost/play/mw_latency").
    std::map<std::pair<std::string, std::string>, Place> origins{};
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

// Every directive at its default, RTMP on 1935, and an enabled __defaultVhost__.
SnapshotPtr default_snapshot();

}  // namespace config
