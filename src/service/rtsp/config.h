#pragma once
// The configuration of RTSP: rtsp_server and vhost/rtsp.

#include <string>

#include "config/section.h"

namespace service::rtsp {

struct TlsConfig {
    bool enabled = false;
    config::ListenAddresses listen{{"", 322}};
    std::string key = "./conf/server.key";
    std::string cert = "./conf/server.crt";
};

struct UdpConfig {
    bool enabled = false;
    config::ListenAddresses listen{{"", 6970}};
};

struct AuthConfig {
    bool enabled = false;
    std::string username{};
    std::string password{};
    std::string methods = "all";  // basic, digest or all
};

// rtsp_server.
struct ServerConfig {
    bool enabled = false;
    config::ListenAddresses listen{{"", 554}};
    int session_timeout = 60;  // s
    UdpConfig udp{};
    TlsConfig rtsps{};
    AuthConfig auth{};
};

// vhost/rtsp.
struct VhostConfig {
    bool enabled = false;
    bool rtmp_to_rtsp = true;
    bool publish = true;
};

config::Section section();

}  // namespace service::rtsp
