#pragma once
// SessionView: what is known of a session, present or past, as plain values: for lists and reports.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/sessions/account.h"
#include "net/sessions/session_type.h"
#include "net/sessions/traffic.h"

namespace net {

// What a client sent about itself, for lists and hooks. Built on request.
struct ClientDetails {
    std::string tc_url{};  // for HTTP: the URL without the stream's name
    std::string page_url{};
    std::string swf_url{};
    std::string params{};     // "?k=v"; may contain secrets: not for lists
    std::string transport{};  // of an HTTP player: "http/1.1" or "h2"
};

// How much of the video a WebRTC player is sent; the later, the less.
enum class RtcSent : uint8_t { kAll, kLayer, kHeads, kAudio };
constexpr std::string_view rtc_sent_name(RtcSent sent) {
    constexpr std::string_view kNames[] = {"all", "layer", "heads", "audio"};
    return kNames[static_cast<size_t>(sent)];
}

// A player's link during a while: the worst of it, and the last estimate.
struct RtcLink {
    RtcSent sent = RtcSent::kAll;
    uint32_t estimate_kbps = 0;  // what the link takes; 0: no less than the stream
    double lost_percent = 0;
    int rtt_ms = 0;  // 0: not known
};

// What only a player has.
struct RtcViewing {
    RtcSent sent = RtcSent::kAll;
    std::string layer{};  // if it is sent another one than the stream's
    uint32_t estimate_kbps = 0;
    int playout_delay_ms = 0;
    std::vector<RtcLink> history{};  // of the last minutes, the newest last; empty: nothing was lost or left out
};

// The packet quality of a WebRTC client: for a player, of the packets we send, by its reports; for a publisher, of the
// packets it sends, by ours.
struct RtcQuality {
    double lost_percent = 0;     // of the worst track, between its last two receiver reports
    std::optional<int> rtt_ms;   // of a player, the mean of its last reports
    int jitter_ms = 0;           // of the worst track, as in its last report
    uint64_t nacks = 0;          // packets requested for retransmission
    uint64_t retransmitted = 0;  // of these, retransmitted; for a publisher: received by RTX
    uint64_t keyframes_asked = 0;
    uint32_t remb_kbps = 0;  // a player's last estimate; 0: none
    std::optional<RtcViewing> viewing{};

    // Orders players: the greater, the worse is what they get.
    double trouble() const { return (viewing ? 1000 * static_cast<int>(viewing->sent) : 0) + lost_percent; }
};

// The packet quality of an SRT session: of the packets that we send, to a player or to a server that we have called; or
// of those that a publisher, or a server that we have called, sends.
struct SrtQuality {
    // Of the packets of the last 10 s: missing when later ones came, or requested again; and sent again.
    double lost_percent = 0, retransmitted_percent = 0;
    std::optional<int> rtt_ms;  // nothing: not measured yet
    uint64_t dropped = 0;       // never came in time, or were too late to be sent
    int latency_ms = 0;         // as agreed: how late a packet may be
    uint32_t peer_version = 0;  // of its library: 0x010505 is 1.5.5
    int key_bits = 0;           // 0: it does not encrypt
    uint64_t flight_bytes = 0;  // sent and not acknowledged; or received, and waiting for others

    // Orders sessions: the greater, the worse is what they get.
    double trouble() const { return lost_percent; }
};

struct SessionView {
    std::string id{};
    std::string vhost_id{};   // of its stream's account; empty: it is in no stream
    std::string stream_id{};  // likewise
    std::string ip{};
    ClientDetails details{};
    std::string url{};   // of its stream, without the default vhost: "/live/cam"
    std::string name{};  // of its stream
    SessionType type = SessionType::kNone;
    int64_t alive_ms = 0;
    Traffic traffic{};
    Rates rates{};
    std::optional<RtcQuality> rtc{};
    std::optional<SrtQuality> srt{};
    bool standby = false;  // it publishes, and waits for the name; set by those who know the stream
};

}  // namespace net
