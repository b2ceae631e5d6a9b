#pragma once
// Offer and answer (RFC 3264, RFC 8829 as the answerer, RFC 8843) for an endpoint that is ice-lite, sends or receives
// at most one audio and one video, and requires one BUNDLE with rtcp-mux. An offer may have any number of m= lines in
// any order: of each kind the first suitable one is accepted, the others are in the answer with port 0. The offerer's
// side is offer.h. The answer and the negotiated result come from the same pass, so that they cannot differ. Of
// simulcast (RFC 8853), layers are received: see NegotiatedMedia::layers. Not supported: data channels, media without
// DTLS.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/sdp/description.h"
#include "protocol/sdp/media_facts.h"

namespace sdp {

// A codec that we can send or receive. fmtp: the wanted format, see format.h's fitness(); empty: the usual one.
struct CodecWish {
    media::Codec codec = media::Codec::kNone;
    std::string fmtp;
    std::string sprop{};  // for sending: the parameter sets, for the answer (sprop.h)
};

// A track that we send: at most one per kind.
struct LocalTrack {
    media::Kind kind = media::Kind::kVideo;
    uint32_t ssrc = 0;
    uint32_t rtx_ssrc = 0;  // 0: none
};

struct LocalOptions {
    // Media.
    bool send = false;                  // false: we receive
    std::vector<CodecWish> codecs;      // of both kinds, in order of preference
    std::vector<Extension> extensions;  // that we write or read; kRid: we receive layers of simulcast
    Feedback feedback;                  // that we support
    bool rtx = true;
    bool red = false;                    // for sending: redundant audio
    std::vector<LocalTrack> tracks;      // for sending
    bool start_at_offered_rate = false;  // for receiving: the sender shall start at the rate of its b= line
    std::string cname = "srs";
    std::string stream_id = "srs";  // in msid; characters not allowed there are replaced

    // Transport.
    uint64_t session_id = 0;  // for o=; random
    IceCredentials ice;
    Fingerprint fingerprint;
    Setup setup = Setup::kPassive;      // where the offer leaves the choice; in an offer: the value to write
    std::vector<Candidate> candidates;  // all of them; the answer ends with end-of-candidates
};

// One m= line of both descriptions.
struct NegotiatedMedia {
    std::string mid;
    media::Kind kind = media::Kind::kData;
    bool rejected = true;
    std::string why;  // reason of a rejection
    // The rest is valid only when not rejected.
    Direction direction = Direction::kInactive;  // ours
    media::Codec codec = media::Codec::kNone;
    uint8_t payload_type = 0;
    std::optional<uint8_t> rtx_payload_type;
    std::optional<uint8_t> red_payload_type;  // audio, when we send
    uint32_t clock_rate = 0;
    uint8_t channels = 1;
    std::string fmtp;
    std::string sprop;  // the peer's, when we receive
    ExtensionIds extensions{};
    Feedback feedback;
    std::vector<SsrcFacts> ssrcs;  // the peer's, as far as it announces them
    // The layers that the peer sends, which only a rid in their packets tells apart: in its order, all of them up to
    // MediaFacts::kMaxLayers. Empty: no simulcast; a peer that offered it then sends one layer.
    std::vector<Layer> layers;
    std::string msid;         // the peer's
    uint32_t kbps = 0;        // from the peer's b= line; 0: absent
    uint32_t start_kbps = 0;  // start rate in the answer; 0: none

    uint8_t extension_id(Extension extension) const { return extensions[static_cast<size_t>(extension)]; }
};

struct Negotiated {
    std::vector<NegotiatedMedia> media;  // one per m= line, in their order
    IceCredentials remote_ice;
    Fingerprint remote_fingerprint;
    Setup setup = Setup::kPassive;  // ours: kActive or kPassive
    std::vector<Candidate> remote_candidates;
    bool remote_trickles = false;
    bool remote_is_lite = false;

    // The accepted media of that kind; null: none.
    const NegotiatedMedia* find(media::Kind kind) const;
};

struct Answered {
    SessionDescription description;
    Negotiated negotiated;
};

// kProtocol: the offer is invalid, or has nothing in common with `local`; the text is for the peer. kLimit: the offer
// exceeds a limit.
base::Result<Answered> answer(const SessionDescription& offer, const LocalOptions& local);

// Internal to this folder: used by offer.cpp too.
namespace detail {
struct Bundle {
    std::vector<std::string> mids;  // empty: no group
};
base::Result<std::vector<MediaFacts>> read_all(const SessionDescription& description);
base::Result<Bundle> read_bundle(const SessionDescription& description, const std::vector<MediaFacts>& facts);
std::optional<media::Kind> kind_of(std::string_view name);
bool is_secure_rtp(std::string_view protocol);
// The common parts of offers and answers for a section that is not rejected.
void write_transport(MediaSection& section, const LocalOptions& local, Setup setup);
void write_format(MediaSection& section, const NegotiatedMedia& media);
void write_sender(MediaSection& section, const LocalOptions& local, media::Kind kind);
base::Result<void> take_transport(Negotiated& negotiated, const std::vector<MediaFacts>& facts,
                                  const std::vector<size_t>& accepted);
}  // namespace detail

}  // namespace sdp
