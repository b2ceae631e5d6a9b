#pragma once
// Offer and answer (RFC 3264, RFC 8829 as the answerer, RFC 8843) for a peer that is ice-lite, sends or receives one
// audio and one video at most, and wants everything in one BUNDLE with rtcp-mux. m= lines may come in any order, as
// many as they like: of each kind the first that fits is taken, the others stay in the answer with port 0. The
// offerer's side is offer.h. What is answered and what was agreed come from the same pass, so that they cannot differ.
// Not here: simulcast (the answer has none, so one layer is sent), data channels, media without DTLS.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/sdp/description.h"
#include "protocol/sdp/media_facts.h"

namespace sdp {

// A codec that we could send or take. fmtp: what the format must be like, see format.h's fitness(); empty: as usual.
struct CodecWish {
    media::Codec codec = media::Codec::kNone;
    std::string fmtp;
    std::string sprop{};  // of what we send: its parameter sets, for the answer (sprop.h)
};

// What we send: one per kind at most.
struct LocalTrack {
    media::Kind kind = media::Kind::kVideo;
    uint32_t ssrc = 0;
    uint32_t rtx_ssrc = 0;  // 0: none
};

struct LocalOptions {
    // The media's share.
    bool send = false;                  // else we receive
    std::vector<CodecWish> codecs;      // of both kinds, the most preferred first
    std::vector<Extension> extensions;  // that we write or read
    Feedback feedback;                  // that we serve
    bool rtx = true;
    std::vector<LocalTrack> tracks;      // of a sender
    bool start_at_offered_rate = false;  // of a receiver: the sender is to begin with the rate of its b= line
    std::string cname = "srs";
    std::string stream_id = "srs";  // of msid; what no identifier there may have is replaced

    // The transport's share.
    uint64_t session_id = 0;  // of o=; random
    IceCredentials ice;
    Fingerprint fingerprint;
    Setup setup = Setup::kPassive;      // where the offer leaves the choice; of an offer: what it says
    std::vector<Candidate> candidates;  // all of them; the answer ends with end-of-candidates
};

// One m= line of both descriptions.
struct NegotiatedMedia {
    std::string mid;
    media::Kind kind = media::Kind::kData;
    bool rejected = true;
    std::string why;  // of a rejected one
    // From here on: of one that is not rejected.
    Direction direction = Direction::kInactive;  // ours
    media::Codec codec = media::Codec::kNone;
    uint8_t payload_type = 0;
    std::optional<uint8_t> rtx_payload_type;
    uint32_t clock_rate = 0;
    uint8_t channels = 1;
    std::string fmtp;
    std::string sprop;  // the peer's, where we receive
    ExtensionIds extensions{};
    Feedback feedback;
    std::vector<SsrcFacts> ssrcs;  // the peer's, as far as it tells them
    std::string msid;              // the peer's
    uint32_t kbps = 0;             // of the peer's b= line; 0: it has none
    uint32_t start_kbps = 0;       // told in the answer; 0: nothing is

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

    // The accepted one; null: there is none.
    const NegotiatedMedia* find(media::Kind kind) const;
};

struct Answered {
    SessionDescription description;
    Negotiated negotiated;
};

// kProtocol: the offer is wrong, or there is nothing in common; the text is for the peer. kLimit: too much of it.
base::Result<Answered> answer(const SessionDescription& offer, const LocalOptions& local);

// Internal to this folder: used by offer.cpp too.
namespace detail {
struct Bundle {
    std::vector<std::string> mids;  // empty: there is no group
};
base::Result<std::vector<MediaFacts>> read_all(const SessionDescription& description);
base::Result<Bundle> read_bundle(const SessionDescription& description, const std::vector<MediaFacts>& facts);
std::optional<media::Kind> kind_of(std::string_view name);
bool is_secure_rtp(std::string_view protocol);
// What is common to offers and answers of a section that is not rejected.
void write_transport(MediaSection& section, const LocalOptions& local, Setup setup);
void write_format(MediaSection& section, const NegotiatedMedia& media);
void write_sender(MediaSection& section, const LocalOptions& local, media::Kind kind);
base::Result<void> take_transport(Negotiated& negotiated, const std::vector<MediaFacts>& facts,
                                  const std::vector<size_t>& accepted);
}  // namespace detail

}  // namespace sdp
