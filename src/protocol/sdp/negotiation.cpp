#include "protocol/sdp/negotiation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "protocol/sdp/format.h"
#include "protocol/sdp/sprop.h"
#include "protocol/sdp/text.h"

namespace sdp {
namespace {

using base::Code;
using base::fail;
using base::Result;
using media::Kind;

Feedback both(const Feedback& a, const Feedback& b) {
    return {a.nack && b.nack, a.pli && b.pli, a.fir && b.fir, a.twcc && b.twcc, a.remb && b.remb};
}

struct Choice {
    const PayloadType* type = nullptr;
    const CodecWish* wish = nullptr;
};

// The most preferred codec that is offered, and its best matching format.
Choice choose(const MediaFacts& facts, Kind kind, const LocalOptions& local) {
    for (const CodecWish& wish : local.codecs) {
        if (media::codec_info(wish.codec).kind != kind) continue;
        Choice best;
        int most = 0;
        for (const PayloadType& type : facts.payload_types) {
            if (codec_of(type.encoding) != wish.codec) continue;
            if (type.clock_rate != clock_rate_of(wish.codec)) continue;
            int fit = fitness(wish.codec, wish.fmtp, type.fmtp);
            if (fit <= most) continue;
            most = fit;
            best = {&type, &wish};
        }
        if (best.type) return best;
    }
    return {};
}

std::string offered_codecs(const MediaFacts& facts) {
    std::string all;
    for (const PayloadType& type : facts.payload_types) {
        if (type.encoding.empty() || all.find(type.encoding) != all.npos || all.size() > 100) continue;
        all += (all.empty() ? "" : " ") + type.encoding.substr(0, 20);
    }
    return all.empty() ? "nothing" : all;
}

std::string wished_codecs(Kind kind, const LocalOptions& local) {
    std::string all;
    for (const CodecWish& wish : local.codecs)
        if (media::codec_info(wish.codec).kind == kind)
            all += fmt::format("{}{}", all.empty() ? "" : " ", encoding_of(wish.codec));
    return all.empty() ? "nothing" : all;
}

class Answerer {
  public:
    Answerer(const SessionDescription& offer, const LocalOptions& local) : offer_(offer), local_(local) {}

    Result<Answered> run() {
        if (offer_.media.empty()) return fail(Code::kProtocol, "the offer has no media");
        facts_ = TRY(detail::read_all(offer_));
        bundle_ = TRY(detail::read_bundle(offer_, facts_));
        if (facts_.front().ice_lite) return fail(Code::kProtocol, "the offer is ice-lite, as we are");
        for (size_t i = 0; i < offer_.media.size(); ++i) TRY(decide(i));
        if (accepted_.empty()) return fail(Code::kProtocol, nothing_in_common());
        TRY(detail::take_transport(answered_.negotiated, facts_, accepted_));
        Setup theirs = facts_[accepted_.front()].has_setup ? facts_[accepted_.front()].setup : Setup::kActive;
        answered_.negotiated.setup = theirs == Setup::kActPass  ? local_.setup
                                     : theirs == Setup::kActive ? Setup::kPassive
                                                                : Setup::kActive;
        write();
        return std::move(answered_);
    }

  private:
    bool in_bundle(const MediaFacts& facts) const {
        return std::ranges::find(bundle_.mids, facts.mid) != bundle_.mids.end();
    }

    // The reason to reject a section; empty: none.
    std::string objection(const MediaSection& section, const MediaFacts& facts, Kind kind) const {
        if (section.port == 0 && !facts.bundle_only) return "the offer has port 0";
        if (!detail::is_secure_rtp(section.protocol)) return "its protocol is " + section.protocol.substr(0, 40);
        if (answered_.negotiated.find(kind)) return "one is taken";
        if (local_.send ? !receives(facts.direction) : !sends(facts.direction))
            return fmt::format("it is {}", direction_name(facts.direction));
        if (!facts.rtcp_mux) return "it has no rtcp-mux";
        return {};
    }

    Result<void> decide(size_t index) {
        const MediaSection& section = offer_.media[index];
        const MediaFacts& facts = facts_[index];
        NegotiatedMedia media;
        media.mid = facts.mid;
        auto kind = detail::kind_of(section.kind);
        if (kind) media.kind = *kind;
        media.why = kind ? objection(section, facts, *kind) : "neither audio nor video";
        Choice choice;
        if (media.why.empty()) {
            choice = choose(facts, *kind, local_);
            if (!choice.type)
                media.why = fmt::format("offered {}, wanted {}", offered_codecs(facts), wished_codecs(*kind, local_));
        }
        if (media.why.empty() && !accepted_.empty() && !(in_bundle(facts) && in_bundle(facts_[accepted_.front()])))
            return fail(Code::kProtocol, "audio and video must be in one a=group:BUNDLE");
        if (media.why.empty()) accept(media, facts, choice, index);
        answered_.negotiated.media.push_back(std::move(media));
        return {};
    }

    void accept(NegotiatedMedia& media, const MediaFacts& facts, const Choice& choice, size_t index) {
        media.rejected = false;
        media.direction = local_.send ? Direction::kSendOnly : Direction::kRecvOnly;
        media.codec = choice.wish->codec;
        media.payload_type = choice.type->number;
        media.clock_rate = choice.type->clock_rate;
        media.channels = choice.type->channels;
        media.fmtp = without_sprop(choice.type->fmtp);
        if (!local_.send) {
            media.sprop = sprop_of(media.codec, choice.type->fmtp);
        } else if (!choice.wish->sprop.empty()) {
            media.fmtp += (media.fmtp.empty() ? "" : ";") + choice.wish->sprop;
        }
        media.feedback = both(choice.type->feedback, local_.feedback);
        const PayloadType* rtx = local_.rtx ? facts.rtx_of(choice.type->number) : nullptr;
        if (rtx) media.rtx_payload_type = rtx->number;
        const bool may_be_red = local_.red && local_.send && media.kind == Kind::kAudio;
        if (const PayloadType* red = may_be_red ? facts.red_of(choice.type->number) : nullptr)
            media.red_payload_type = red->number;
        for (Extension wanted : local_.extensions)
            media.extensions[static_cast<size_t>(wanted)] = facts.extensions[static_cast<size_t>(wanted)];
        if (!local_.send) media.ssrcs = facts.ssrcs;
        if (!local_.send && media.extension_id(Extension::kRid) != 0) media.layers = facts.layers;
        if (media.layers.empty())
            for (Extension layered : {Extension::kRid, Extension::kRepairedRid})
                media.extensions[static_cast<size_t>(layered)] = 0;
        media.msid = facts.msid;
        media.kbps = facts.kbps;
        if (!local_.send && local_.start_at_offered_rate && media.kind == Kind::kVideo) media.start_kbps = facts.kbps;
        accepted_.push_back(index);
    }

    std::string nothing_in_common() const {
        std::string all = "nothing of the offer can be taken:";
        for (size_t i = 0; i < offer_.media.size() && all.size() < 400; ++i)
            all += fmt::format("{} {}: {}", i ? ";" : "", offer_.media[i].kind.substr(0, 20),
                               answered_.negotiated.media[i].why);
        return all;
    }

    void write() {
        SessionDescription& out = answered_.description;
        out.origin = fmt::format("- {} 2 IN IP4 0.0.0.0", local_.session_id);
        std::string group;
        for (size_t index : accepted_)
            if (in_bundle(facts_[index])) group += " " + facts_[index].mid;
        if (!group.empty()) out.add("group", "BUNDLE" + group);
        out.add("ice-lite");
        if (offer_.has("msid-semantic")) out.add("msid-semantic", " WMS *");
        for (size_t i = 0; i < offer_.media.size(); ++i) {
            const NegotiatedMedia& media = answered_.negotiated.media[i];
            MediaSection section;
            section.kind = offer_.media[i].kind;
            section.protocol = offer_.media[i].protocol;
            section.connection = "IN IP4 0.0.0.0";
            if (media.rejected) {
                write_rejected(section, offer_.media[i], media);
            } else {
                write_accepted(section, media, i);
            }
            out.media.push_back(std::move(section));
        }
    }

    static void write_rejected(MediaSection& section, const MediaSection& offered, const NegotiatedMedia& media) {
        section.port = 0;
        section.formats = offered.formats;
        if (section.formats.empty()) section.formats.push_back("0");
        if (!media.mid.empty()) section.add("mid", media.mid);
        section.add("inactive");
    }

    void write_accepted(MediaSection& section, const NegotiatedMedia& media, size_t index) {
        detail::write_transport(section, local_, answered_.negotiated.setup);
        if (facts_[index].trickle) section.add("ice-options", "trickle");
        if (!media.mid.empty()) section.add("mid", media.mid);
        section.add(direction_name(media.direction));
        if (offer_.media[index].has("rtcp-rsize")) section.add("rtcp-rsize");
        detail::write_format(section, media);
        if (local_.send) detail::write_sender(section, local_, media.kind);
        write_layers(section, media.layers);
        for (const Candidate& candidate : local_.candidates) section.add("candidate", candidate.write());
        section.add("end-of-candidates");
    }

    static void write_layers(MediaSection& section, const std::vector<Layer>& layers) {
        std::string list;
        for (const Layer& layer : layers) {
            section.add("rid", layer.rid + " recv");
            list += fmt::format("{}{}{}", list.empty() ? "" : ";", layer.paused ? "~" : "", layer.rid);
        }
        if (!layers.empty()) section.add("simulcast", "recv " + list);
    }

    const SessionDescription& offer_;
    const LocalOptions& local_;
    std::vector<MediaFacts> facts_;
    detail::Bundle bundle_;
    std::vector<size_t> accepted_;
    Answered answered_;
};

}  // namespace

const NegotiatedMedia* Negotiated::find(Kind kind) const {
    for (const NegotiatedMedia& one : media)
        if (!one.rejected && one.kind == kind) return &one;
    return nullptr;
}

Result<Answered> answer(const SessionDescription& offer, const LocalOptions& local) {
    return Answerer(offer, local).run();
}

namespace detail {

std::optional<Kind> kind_of(std::string_view name) {
    if (name == "audio") return Kind::kAudio;
    if (name == "video") return Kind::kVideo;
    return std::nullopt;
}

bool is_secure_rtp(std::string_view protocol) {
    for (std::string_view known :
         {"UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF", "TCP/TLS/RTP/SAVPF", "RTP/SAVPF", "RTP/SAVP"})
        if (known == protocol) return true;
    return false;
}

Result<std::vector<MediaFacts>> read_all(const SessionDescription& description) {
    std::vector<MediaFacts> all;
    std::set<std::string_view> mids;
    all.reserve(description.media.size());
    const MediaFacts inherited = TRY(read_session(description), "before the first m= line");
    for (size_t i = 0; i < description.media.size(); ++i) {
        all.push_back(TRY(read_media(description.media[i], inherited), fmt::format("m= line {}", i + 1)));
        if (!all.back().mid.empty() && !mids.insert(all.back().mid).second)
            return fail(Code::kProtocol, fmt::format("the mid '{}' is there twice", all.back().mid));
    }
    return all;
}

Result<Bundle> read_bundle(const SessionDescription& description, const std::vector<MediaFacts>& facts) {
    Bundle bundle;
    std::set<std::string_view> mids, grouped;
    for (const MediaFacts& media : facts)
        if (!media.mid.empty()) mids.insert(media.mid);
    for (const Attribute& attribute : description.attributes) {
        if (attribute.name != "group") continue;
        std::string_view rest = attribute.value;
        std::string_view semantics = take_word(rest);
        if (semantics.empty()) return fail(Code::kProtocol, "a=group without a semantics");
        if (semantics != "BUNDLE") continue;
        bool first = grouped.empty();
        while (!rest.empty()) {
            std::string_view mid = take_word(rest);
            if (mid.empty()) continue;
            if (!mids.contains(mid))
                return fail(Code::kProtocol,
                            fmt::format("a=group:BUNDLE names '{}', which no m= line is called", mid.substr(0, 40)));
            if (!grouped.insert(mid).second)
                return fail(Code::kProtocol, fmt::format("a=group:BUNDLE names '{}' twice", mid));
            if (first) bundle.mids.emplace_back(mid);
        }
    }
    return bundle;
}

Result<void> take_transport(Negotiated& negotiated, const std::vector<MediaFacts>& facts,
                            const std::vector<size_t>& accepted) {
    // The first section of the group carries the transport of all sections; others may repeat it.
    const MediaFacts* tagged = nullptr;
    for (size_t index : accepted)
        if (!tagged && !facts[index].ice.ufrag.empty()) tagged = &facts[index];
    for (const MediaFacts& media : facts)
        if (!tagged && !media.ice.ufrag.empty()) tagged = &media;
    if (!tagged || tagged->ice.pwd.empty()) return fail(Code::kProtocol, "it has no ice-ufrag and ice-pwd");
    if (tagged->fingerprint.empty()) return fail(Code::kProtocol, "it has no DTLS fingerprint");
    negotiated.remote_ice = tagged->ice;
    negotiated.remote_fingerprint = tagged->fingerprint;
    negotiated.remote_candidates = tagged->candidates;
    negotiated.remote_trickles = tagged->trickle && !tagged->end_of_candidates;
    negotiated.remote_is_lite = tagged->ice_lite;
    return {};
}

void write_transport(MediaSection& section, const LocalOptions& local, Setup setup) {
    section.add("ice-ufrag", local.ice.ufrag);
    section.add("ice-pwd", local.ice.pwd);
    section.add("fingerprint", fmt::format("{} {}", local.fingerprint.algorithm, local.fingerprint.value));
    section.add("setup", setup_name(setup));
    section.add("rtcp-mux");
}

void write_format(MediaSection& section, const NegotiatedMedia& media) {
    const unsigned pt = media.payload_type;
    section.formats.push_back(std::to_string(pt));
    for (size_t i = 0; i < kExtensions; ++i)
        if (media.extensions[i])
            section.add("extmap", fmt::format("{} {}", media.extensions[i], extension_uri(static_cast<Extension>(i))));
    std::string map = fmt::format("{} {}/{}", pt, encoding_of(media.codec), media.clock_rate);
    if (media.channels > 1) map += fmt::format("/{}", media.channels);
    section.add("rtpmap", map);
    auto feedback = [&](bool wanted, std::string_view what) {
        if (wanted) section.add("rtcp-fb", fmt::format("{} {}", pt, what));
    };
    feedback(media.feedback.nack, "nack");
    feedback(media.feedback.pli, "nack pli");
    feedback(media.feedback.fir, "ccm fir");
    feedback(media.feedback.twcc, "transport-cc");
    feedback(media.feedback.remb, "goog-remb");
    std::string fmtp = media.fmtp;
    if (media.start_kbps) fmtp += fmt::format("{}x-google-start-bitrate={}", fmtp.empty() ? "" : ";", media.start_kbps);
    if (!fmtp.empty()) section.add("fmtp", fmt::format("{} {}", pt, fmtp));
    if (media.red_payload_type) {
        const unsigned red = *media.red_payload_type;
        section.formats.push_back(std::to_string(red));
        section.add("rtpmap", fmt::format("{} red/{}{}", red, media.clock_rate, media.channels > 1 ? "/2" : ""));
        section.add("fmtp", fmt::format("{} {}/{}", red, pt, pt));
    }
    if (!media.rtx_payload_type) return;
    const unsigned rtx = *media.rtx_payload_type;
    section.formats.push_back(std::to_string(rtx));
    section.add("rtpmap", fmt::format("{} rtx/{}", rtx, media.clock_rate));
    section.add("fmtp", fmt::format("{} apt={}", rtx, pt));
}

// An identifier of msid (RFC 8830, section 2): token characters, at most 64. Other characters become '_'. Room is left
// for the suffix of the track's identifier.
std::string msid_of(std::string_view text) {
    constexpr size_t kMaxBytes = 64 - std::string_view("-video").size();
    static constexpr std::string_view kMarks = "!#$%&'*+-.^_`{|}~";
    std::string id(text.substr(0, kMaxBytes));
    std::ranges::replace_if(
        id,
        [](char c) {
            const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
            return !alphanumeric && kMarks.find(c) == kMarks.npos;
        },
        '_');
    return id;
}

void write_sender(MediaSection& section, const LocalOptions& local, Kind kind) {
    for (const LocalTrack& track : local.tracks) {
        if (track.kind != kind) continue;
        const std::string_view name = kind == Kind::kAudio ? "audio" : "video";
        const std::string id = msid_of(local.stream_id);
        const std::string msid = fmt::format("{0} {0}-{1}", id, name);
        section.add("msid", msid);
        const bool has_rtx = track.rtx_ssrc != 0 && local.rtx && section.formats.size() > 1;
        if (has_rtx) section.add("ssrc-group", fmt::format("FID {} {}", track.ssrc, track.rtx_ssrc));
        for (uint32_t ssrc : {track.ssrc, has_rtx ? track.rtx_ssrc : 0}) {
            if (ssrc == 0) continue;
            section.add("ssrc", fmt::format("{} cname:{}", ssrc, local.cname));
            section.add("ssrc", fmt::format("{} msid:{}", ssrc, msid));
        }
        return;
    }
}

}  // namespace detail

}  // namespace sdp
