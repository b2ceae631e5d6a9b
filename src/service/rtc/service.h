#pragma once
// WebRTC: sessions from offers, over the UDP and TCP addresses of rtc_server. Signalling (signaling.h: WHIP, WHEP, the
// JSON API) asks net::Gate, then calls create(); what is carried is made by player.h and publisher.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/gate.h"

namespace service::rtc {

// An address of ours that the answer offers, as signalling found it (candidates.h): host is an IP address, or a name
// when keep_api_domain says so.
struct CandidateAddress {
    std::string host;
    uint16_t port = 0;
    bool tcp = false;  // RFC 6544, passive
    friend bool operator==(const CandidateAddress&, const CandidateAddress&) = default;
};

struct Ask {
    net::Visitor visitor;  // kPublish or kPlay; id: new_context_id(), which the session gets; vhost as configured
    net::Stay stay;        // the gate let it in
    std::string offer;     // SDP
    std::vector<CandidateAddress> candidates;
    std::string vcodec;  // wishes, as in the URL: "h264", "hevc", "av1", "vp8", "vp9"; empty: none
    std::string acodec;  // "opus", "pcmu", "pcma"
};

struct Answer {
    std::string session;  // the id in API, log and hooks
    std::string token;    // random; whoever has it may end the session
    std::string sdp;
    std::string etag;  // of the ICE session, without quotes: RFC 9725, 4.3.1
};

struct Patched {
    std::string fragment;  // the answer's SDP fragment; empty: 204, nothing to tell
    std::string etag;
};

// What signalling asks for. None of it yields. Codes of errors: kProtocol (the offer is wrong: 400), kNotFound (404),
// kBusy (the name is being published: 409), kLimit (503), kRefused (403); their texts are for the client.
class Sessions {
  public:
    virtual base::Result<Answer> create(Ask ask) = 0;
    // application/trickle-ice-sdpfrag. if_match: an etag, "*" or empty. kBusy: it does not match (412).
    virtual base::Result<Patched> patch(std::string_view session, std::string_view token, std::string_view if_match,
                                        std::string_view fragment) = 0;
    virtual base::Result<void> remove(std::string_view session, std::string_view token) = 0;
    // The real ports (0 in the configuration: any), for candidates. Empty: not served.
    virtual const std::vector<uint16_t>& udp_ports() const = 0;
    virtual const std::vector<uint16_t>& tcp_ports() const = 0;

  protected:
    ~Sessions() = default;
};

}  // namespace service::rtc
