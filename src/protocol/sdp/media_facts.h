#pragma once
// The WebRTC attributes of a media section: payload types with their formats and feedback (RFC 8866, 4585, 5104, 4588),
// header extensions (RFC 8285), SSRCs (RFC 5576), directions, and the transport's attributes (ICE: RFC 8839, DTLS: RFC
// 8122, 8842), which may be at session level. Layers of simulcast that the author sends (RFC 8851, 8853), without their
// restrictions. One pass over the attributes. Unknown attributes are ignored; a known attribute that is truncated is an
// error.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "media/codec.h"
#include "protocol/sdp/candidate.h"
#include "protocol/sdp/description.h"

namespace sdp {

// From the point of view of the description's author.
enum class Direction : uint8_t { kSendRecv, kSendOnly, kRecvOnly, kInactive };
std::string_view direction_name(Direction direction);
constexpr bool sends(Direction d) { return d == Direction::kSendRecv || d == Direction::kSendOnly; }
constexpr bool receives(Direction d) { return d == Direction::kSendRecv || d == Direction::kRecvOnly; }

// The DTLS role: the active side begins the handshake.
enum class Setup : uint8_t { kActPass, kActive, kPassive };
std::string_view setup_name(Setup setup);

struct Fingerprint {
    std::string algorithm;  // "sha-256", in lower case
    std::string value;      // "AB:CD:..."
    bool empty() const { return value.empty(); }
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// The a=rtcp-fb values that we support.
struct Feedback {
    bool nack = false;
    bool pli = false;
    bool fir = false;
    bool twcc = false;  // transport-cc
    bool remb = false;  // goog-remb
    friend bool operator==(const Feedback&, const Feedback&) = default;
};

enum class Extension : uint8_t {
    kMid,
    kRid,
    kRepairedRid,
    kTwcc,
    kAbsSendTime,
    kAudioLevel,
    kVideoOrientation,
    kPlayoutDelay
};
inline constexpr size_t kExtensions = 8;
std::string_view extension_uri(Extension extension);
// Ids by Extension; 0: not present.
using ExtensionIds = std::array<uint8_t, kExtensions>;

struct PayloadType {
    uint8_t number = 0;
    std::string encoding;  // "H264", "rtx"; empty: absent
    uint32_t clock_rate = 0;
    uint8_t channels = 1;
    std::string fmtp;
    Feedback feedback;
    bool is_rtx() const;
};

struct IceCredentials {
    std::string ufrag;
    std::string pwd;
    friend bool operator==(const IceCredentials&, const IceCredentials&) = default;
};

// An SSRC of a section, and the SSRC of its retransmissions (FID).
struct SsrcFacts {
    uint32_t ssrc = 0;
    uint32_t rtx = 0;  // 0: none
    std::string cname;
};

// A layer of simulcast: one of several encodings of the same video.
struct Layer {
    std::string rid;      // 1 to kMaxRid letters, digits, '-' and '_'
    bool paused = false;  // not sent at first
    friend bool operator==(const Layer&, const Layer&) = default;
};

struct MediaFacts {
    std::string mid;
    Direction direction = Direction::kSendRecv;
    bool rtcp_mux = false;
    bool bundle_only = false;
    std::vector<PayloadType> payload_types;  // in the order of the m= line
    ExtensionIds extensions{};
    std::vector<SsrcFacts> ssrcs;  // at most kMaxSsrcs; further ones are ignored
    std::vector<Layer> layers;     // sent by the author, in the order of a=simulcast; at most kMaxLayers, likewise
    std::string msid;              // "stream track"
    uint32_t kbps = 0;             // from b=AS or b=TIAS; 0: absent

    IceCredentials ice;
    Fingerprint fingerprint;
    Setup setup = Setup::kActPass;
    bool has_setup = false;
    std::vector<Candidate> candidates;  // at most kMaxCandidates
    bool end_of_candidates = false;
    bool trickle = false;   // from ice-options
    bool ice_lite = false;  // at session level

    static constexpr size_t kMaxSsrcs = 16;
    static constexpr size_t kMaxCandidates = 32;
    static constexpr size_t kMaxLayers = 3;
    static constexpr size_t kMaxRid = 16;
    const PayloadType* find(uint8_t number) const;
    const PayloadType* rtx_of(uint8_t number) const;
    const PayloadType* red_of(uint8_t number) const;  // audio: RFC 2198
};

// The attributes at session level that apply to all sections: read once, however many sections there are.
base::Result<MediaFacts> read_session(const Section& session);
base::Result<MediaFacts> read_media(const MediaSection& media, MediaFacts inherited = {});

}  // namespace sdp
