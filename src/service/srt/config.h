#pragma once
// The configuration of SRT: srt_server and vhost/srt.

#include <string>

#include "config/section.h"

namespace service::srt {

// srt_server.
struct ServerConfig {
    bool enabled = false;
    config::ListenAddresses listen{{"", 10080}};
    int maxbw = -1;                  // bytes/s of one player; -1: no limit; 0: by the stream's rate
    int mss = 1500;                  // bytes of a packet with the headers of IP and UDP
    int connect_timeout = 3'000;     // ms
    int peer_idle_timeout = 10'000;  // ms
    std::string default_app = "live";
    std::string default_streamid = "#!::r=live/livestream,m=request";
    std::string default_mode = "request";  // or publish
    int latency = 120;                     // ms
    int recvlatency = -1;                  // ms; -1: latency
    int peerlatency = -1;                  // ms; -1: latency
    bool tsbpdmode = true;
    bool tlpktdrop = true;
    int sendbuf = 8192 * (1500 - 28);  // no effect: players share the stream's messages
    int recvbuf = 8192 * (1500 - 28);  // bytes of packets that wait for others
    std::string passphrase{};
    int pbkeylen = 0;            // bytes: 16, 24 or 32; 0: as the caller says
    int payloadsize = 1316;      // no effect: players get messages of at most 1,316 bytes
    bool mix_correct = true;     // no effect
    bool sei_filter = true;      // no effect
    int max_handshakes = 1'000;  // callers that are being admitted
};

// vhost/srt.
struct VhostConfig {
    bool enabled = false;
    bool srt_to_rtmp = true;
    std::string passphrase{};  // empty: the one of srt_server
    int pbkeylen = 0;          // bytes; 0: the one of srt_server
    bool passphrase_by_hook = false;
};

// What a caller needs: of the vhost, or else of the server.
const std::string& passphrase_of(const ServerConfig& server, const VhostConfig& vhost);

config::Section section();

}  // namespace service::srt
