#include "protocol/sdp/testing/offer.h"

#include <fmt/format.h>

#include "protocol/sdp/format.h"

namespace sdp {
namespace {

using base::Code;
using base::fail;
using base::Result;
using media::Codec;
using media::Kind;

constexpr uint8_t kFirstPayloadType = 96;

class Offerer {
  public:
    explicit Offerer(const LocalOptions& local) : local_(local) {}

    SessionDescription run() {
        out_.origin = fmt::format("- {} 1 IN IP4 0.0.0.0", local_.session_id);
        std::string mids;
        for (Kind kind : {Kind::kAudio, Kind::kVideo})
            if (has(kind)) mids += fmt::format(" {}", add(kind));
        out_.attributes.insert(out_.attributes.begin(), {"group", "BUNDLE" + mids});
        return std::move(out_);
    }

  private:
    bool has(Kind kind) const {
        for (const CodecWish& wish : local_.codecs)
            if (media::codec_info(wish.codec).kind == kind) return true;
        return false;
    }

    std::string add(Kind kind) {
        const std::string mid = std::to_string(out_.media.size());
        MediaSection section;
        section.kind = kind == Kind::kAudio ? "audio" : "video";
        section.protocol = "UDP/TLS/RTP/SAVPF";
        section.connection = "IN IP4 0.0.0.0";
        detail::write_transport(section, local_, local_.setup);
        section.add("mid", mid);
        section.add(direction_name(local_.send ? Direction::kSendOnly : Direction::kRecvOnly));
        uint8_t id = 1;
        for (Extension extension : local_.extensions)
            section.add("extmap", fmt::format("{} {}", id++, extension_uri(extension)));
        for (const CodecWish& wish : local_.codecs)
            if (media::codec_info(wish.codec).kind == kind) add_format(section, wish, kind);
        if (local_.send) detail::write_sender(section, local_, kind);
        for (const Candidate& candidate : local_.candidates) section.add("candidate", candidate.write());
        if (!local_.candidates.empty()) section.add("end-of-candidates");
        out_.media.push_back(std::move(section));
        return mid;
    }

    void add_format(MediaSection& section, const CodecWish& wish, Kind kind) {
        NegotiatedMedia media;
        media.codec = wish.codec;
        media.payload_type = wish.codec == Codec::kPcmUlaw ? 0 : wish.codec == Codec::kPcmAlaw ? 8 : next_++;
        media.clock_rate = clock_rate_of(wish.codec);
        media.channels = wish.codec == Codec::kOpus ? 2 : 1;
        media.fmtp = wish.fmtp;
        media.feedback = local_.feedback;
        if (kind == Kind::kAudio) media.feedback.pli = media.feedback.fir = false;
        if (local_.rtx && kind == Kind::kVideo) media.rtx_payload_type = next_++;
        detail::write_format(section, media);
    }

    const LocalOptions& local_;
    SessionDescription out_;
    uint8_t next_ = kFirstPayloadType;
};

}  // namespace

SessionDescription make_offer(const LocalOptions& local) { return Offerer(local).run(); }

Result<Negotiated> read_answer(const SessionDescription& offer, const SessionDescription& answer) {
    if (answer.media.size() != offer.media.size())
        return fail(Code::kProtocol,
                    fmt::format("{} m= lines were offered, {} answered", offer.media.size(), answer.media.size()));
    auto theirs = TRY(detail::read_all(answer), "the answer");
    auto ours = TRY(detail::read_all(offer), "the offer");
    Negotiated negotiated;
    std::vector<size_t> accepted;
    for (size_t i = 0; i < answer.media.size(); ++i) {
        NegotiatedMedia& media = negotiated.media.emplace_back();
        media.mid = ours[i].mid;
        media.kind = detail::kind_of(offer.media[i].kind).value_or(Kind::kData);
        if (answer.media[i].kind != offer.media[i].kind)
            return fail(Code::kProtocol, fmt::format("m= line {} is of another kind than offered", i + 1));
        if (answer.media[i].port == 0) {
            media.why = "the answer has port 0";
            continue;
        }
        const PayloadType* type = theirs[i].payload_types.empty() ? nullptr : &theirs[i].payload_types.front();
        auto codec = type ? codec_of(type->encoding) : std::nullopt;
        if (!codec || !ours[i].find(type->number))
            return fail(Code::kProtocol, fmt::format("m= line {} answers a format that was not offered", i + 1));
        media.rejected = false;
        media.direction = ours[i].direction;
        media.codec = *codec;
        media.payload_type = type->number;
        if (const PayloadType* rtx = theirs[i].rtx_of(type->number)) media.rtx_payload_type = rtx->number;
        media.clock_rate = type->clock_rate;
        media.channels = type->channels;
        media.fmtp = type->fmtp;
        media.extensions = theirs[i].extensions;
        media.feedback = type->feedback;
        media.ssrcs = theirs[i].ssrcs;
        media.msid = theirs[i].msid;
        accepted.push_back(i);
    }
    if (accepted.empty()) return fail(Code::kProtocol, "the answer takes nothing of the offer");
    TRY(detail::take_transport(negotiated, theirs, accepted));
    negotiated.setup = theirs[accepted.front()].setup == Setup::kActive ? Setup::kPassive : Setup::kActive;
    return negotiated;
}

}  // namespace sdp
