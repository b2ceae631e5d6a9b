#include "load/rtc/signalling.h"

#include <fmt/format.h>

#include <charconv>

#include "protocol/rtp/extensions.h"
#include "protocol/sdp/candidate.h"
#include "protocol/sdp/description.h"

namespace load::rtc {

namespace {

std::string write_media(const OfferFacts& facts, bool video) {
    std::string formats = video ? fmt::format("{}{}", kH264Payload, facts.nack ? fmt::format(" {}", kRtxPayload) : "")
                                : std::to_string(kOpusPayload);
    std::string out = fmt::format(
        "m={} 9 UDP/TLS/RTP/SAVPF {}\r\nc=IN IP4 0.0.0.0\r\na=rtcp-mux\r\na=rtcp-rsize\r\na=mid:{}\r\na={}\r\n",
        video ? "video" : "audio", formats, video ? 1 : 0, facts.publish ? "sendonly" : "recvonly");
    out += fmt::format("a=ice-ufrag:{}\r\na=ice-pwd:{}\r\na=fingerprint:{}\r\na=setup:actpass\r\n",
                       facts.credentials.ufrag, facts.credentials.password, facts.fingerprint);
    if (video) {
        out += fmt::format(
            "a=rtpmap:{0} H264/90000\r\na=fmtp:{0} level-asymmetry-allowed=1;packetization-mode=1;"
            "profile-level-id=42e01f\r\na=rtcp-fb:{0} nack pli\r\na=rtcp-fb:{0} ccm fir\r\n",
            kH264Payload);
        if (facts.nack) {
            out += fmt::format("a=rtcp-fb:{0} nack\r\na=rtpmap:{1} rtx/90000\r\na=fmtp:{1} apt={0}\r\n", kH264Payload,
                               kRtxPayload);
        }
    } else {
        out += fmt::format("a=rtpmap:{0} opus/48000/2\r\na=fmtp:{0} minptime=10;useinbandfec=1\r\n", kOpusPayload);
    }
    if (facts.publish) {
        out += fmt::format("a=extmap:{} {}\r\na=rtcp-fb:{} transport-cc\r\n", kTransportCcId, rtp::kTransportCcUri,
                           video ? kH264Payload : kOpusPayload);
        out += fmt::format("a=msid:load {0}\r\na=ssrc:{1} cname:load\r\na=ssrc:{1} msid:load {0}\r\n",
                           video ? "video" : "audio", video ? facts.video_ssrc : facts.audio_ssrc);
    }
    return out;
}

// Of the section, or where the section has none, of the session.
std::string find(const sdp::SessionDescription& all, const sdp::MediaSection& media, std::string_view name) {
    const std::string* value = media.find(name);
    if (!value) value = all.find(name);
    return value ? *value : std::string();
}

// "96 H264/90000" of each a=rtpmap.
std::optional<uint8_t> payload_of(const sdp::MediaSection& media, std::string_view codec) {
    for (const auto& attribute : media.attributes) {
        if (attribute.name != "rtpmap") continue;
        unsigned payload = 0;
        const char* end = attribute.value.data() + attribute.value.size();
        auto [at, error] = std::from_chars(attribute.value.data(), end, payload);
        if (error == std::errc() && payload < 128 && std::string_view(at, end).starts_with(codec)) {
            return static_cast<uint8_t>(payload);
        }
    }
    return std::nullopt;
}

bool accepts_transport_cc(const sdp::MediaSection& media) {
    for (const auto& attribute : media.attributes) {
        if (attribute.name == "extmap" && attribute.value == fmt::format("{} {}", kTransportCcId, rtp::kTransportCcUri))
            return true;
    }
    return false;
}

void read_candidates(const sdp::MediaSection& media, AnswerFacts& facts) {
    for (const auto& attribute : media.attributes) {
        if (attribute.name != "candidate") continue;
        auto candidate = sdp::Candidate::parse(attribute.value);
        if (!candidate || candidate->tcp) continue;
        if (auto ip = base::IpAddress::parse(candidate->address)) facts.candidates.push_back({*ip, candidate->port});
    }
}

}  // namespace

std::string write_offer(const OfferFacts& facts) {
    return "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=msid-semantic: WMS *\r\n" +
           write_media(facts, false) + write_media(facts, true);
}

base::Result<AnswerFacts> read_answer(std::string_view text) {
    auto all = TRY(sdp::SessionDescription::parse(text));
    AnswerFacts facts;
    for (const auto& media : all.media) {
        if (media.port == 0) continue;  // rejected
        facts.credentials = {find(all, media, "ice-ufrag"), find(all, media, "ice-pwd")};
        std::string fingerprint = find(all, media, "fingerprint");
        size_t space = fingerprint.find(' ');
        facts.fingerprint_algorithm = fingerprint.substr(0, space);
        facts.fingerprint = space == fingerprint.npos ? "" : fingerprint.substr(space + 1);
        facts.peer_is_client = find(all, media, "setup") == "active";
        if (facts.candidates.empty()) read_candidates(media, facts);
        facts.transport_cc = facts.transport_cc || accepts_transport_cc(media);
        if (media.kind == "audio") facts.audio_payload = payload_of(media, " opus/");
        if (media.kind == "video") {
            facts.video_payload = payload_of(media, " H264/");
            facts.rtx_payload = payload_of(media, " rtx/");
        }
    }
    if (!facts.credentials.valid()) return base::fail(base::Code::kProtocol, "the answer has no ICE credentials");
    if (facts.candidates.empty()) return base::fail(base::Code::kProtocol, "the answer has no UDP candidate");
    if (!facts.video_payload && !facts.audio_payload)
        return base::fail(base::Code::kProtocol, "the answer takes neither");
    return facts;
}

}  // namespace load::rtc
