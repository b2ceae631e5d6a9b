#pragma once
// The configuration of WebRTC: rtc_server and vhost/rtc.

#include <string>
#include <vector>

#include "config/section.h"

namespace service::rtc {

struct TcpConfig {
    bool enabled = false;
    config::ListenAddresses listen{{"", 8000}};
};

struct BlackHoleConfig {
    bool enabled = false;
    std::string addr{};  // after loading, if enabled: ADDRESS:PORT
};

// rtc_server.
struct ServerConfig {
    bool enabled = false;
    config::ListenAddresses listen{{"", 8000}};  // UDP
    std::string protocol = "udp";                // udp, tcp or all
    int reuseport = 1;                           // one socket per address is enough here
    int max_offers = 2000;                       // not connected yet
    TcpConfig tcp{};
    std::vector<std::string> candidate{"*"};  // see signalling/candidates.h
    bool use_auto_detect_network_ip = true;
    std::string ip_family = "ipv4";  // ipv4, ipv6 or all
    bool api_as_candidates = true;
    bool resolve_api_domain = true;
    bool keep_api_domain = false;
    std::vector<std::string> ice_server{};  // a stun: address, or a turn: address, username and credential
    bool ecdsa = true;
    bool encrypt = true;
    bool merge_nalus = false;
    BlackHoleConfig black_hole{};
};

// vhost/rtc.
struct VhostConfig {
    bool enabled = false;
    bool nack = true;
    bool nack_prefer_rtx = true;
    int playout_delay = 600;   // ms
    bool nack_no_copy = true;  // no effect: packets are always shared
    bool twcc = true;
    int stun_timeout = 30;              // s
    bool stun_strict_check = false;     // no effect: the check is always strict
    std::string dtls_role = "passive";  // active or passive, of this server
    std::string dtls_version = "auto";  // auto, dtls1.0 or dtls1.2
    int drop_for_pt = 0;                // 0: none
    bool rtmp_to_rtc = false;
    bool keep_bframe = false;
    bool keep_avc_nalu_sei = true;
    int opus_bitrate = 48'000;      // bit/s
    std::string opus_ptime = "40";  // ms: 20, 40 or 60
    bool rtc_to_rtmp = false;
    bool layers_as_streams = false;
    double pli_for_rtmp = 6.0;  // s
    int aac_bitrate = 48'000;   // bit/s
    bool init_rate_from_sdp = false;
    bool keep_original_ssrc = false;
};

config::Section section();

}  // namespace service::rtc
