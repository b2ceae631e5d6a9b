#pragma once
// What a WHIP publisher or WHEP player says and hears by HTTP: its offer as text, and the facts in an answer that the
// load tool needs. H.264 and Opus, one of each; BUNDLE, rtcp-mux, no trickle.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "protocol/ice/credentials.h"

namespace load::rtc {

inline constexpr uint8_t kOpusPayload = 111, kH264Payload = 96, kRtxPayload = 97;
inline constexpr uint8_t kTransportCcId = 3;  // of the header extension that a publisher's packets have

struct OfferFacts {
    bool publish = false;
    bool nack = false;  // and RTX
    ice::Credentials credentials;
    std::string fingerprint;  // "sha-256 AB:..."
    // Of a publisher. It offers transport-wide congestion control.
    uint32_t audio_ssrc = 0, video_ssrc = 0;
};
std::string write_offer(const OfferFacts& facts);

struct AnswerFacts {
    ice::Credentials credentials;
    std::string fingerprint_algorithm, fingerprint;
    bool peer_is_client = false;             // of DTLS: a=setup:active
    std::vector<base::Endpoint> candidates;  // UDP, with an IP address
    bool transport_cc = false;
    std::optional<uint8_t> audio_payload, video_payload, rtx_payload;  // accepted ones
};
// kProtocol: there is something missing.
base::Result<AnswerFacts> read_answer(std::string_view text);

}  // namespace load::rtc
