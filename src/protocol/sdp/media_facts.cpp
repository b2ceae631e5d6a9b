#include "protocol/sdp/media_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "protocol/sdp/format.h"
#include "protocol/sdp/text.h"

namespace sdp {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kUris[kExtensions] = {
    "urn:ietf:params:rtp-hdrext:sdes:mid",
    "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id",
    "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id",
    "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
    "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
    "urn:ietf:params:rtp-hdrext:ssrc-audio-level",
    "urn:3gpp:video-orientation",
    "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
};

// Static payload types of RFC 3551 that may appear without an rtpmap.
struct StaticType {
    uint8_t number;
    std::string_view encoding;
};
constexpr StaticType kStatic[] = {{0, "PCMU"}, {8, "PCMA"}};

constexpr size_t kMaxCname = 255;
constexpr size_t kMaxFmtp = 1024;
constexpr size_t kMaxMid = 32;
constexpr size_t kMaxRids = 16;  // of a section; further ones are ignored

std::unexpected<base::Error> bad(const Attribute& attribute) {
    return fail(Code::kProtocol,
                fmt::format("'a={}:{}' is cut short or wrong", attribute.name, attribute.value.substr(0, 80)));
}

// RFC 8839 allows letters, digits, + and /. Other printable characters are accepted because some clients use them, but
// no spaces.
bool is_ice_text(std::string_view text, size_t least) {
    return text.size() >= least && text.size() <= 256 &&
           std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

bool is_rid(std::string_view text) {
    return !text.empty() && text.size() <= MediaFacts::kMaxRid && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
    });
}

class Reader {
  public:
    explicit Reader(MediaFacts& facts) : facts_(facts) { index_of_type_.fill(-1); }

    Result<void> formats(const MediaSection& media) {
        for (const std::string& format : media.formats) {
            auto pt = number<uint8_t>(format, 127);
            if (!pt || index_of_type_[*pt] >= 0) continue;  // "webrtc-datachannel", or a duplicate
            index_of_type_[*pt] = static_cast<int16_t>(facts_.payload_types.size());
            PayloadType& type = facts_.payload_types.emplace_back();
            type.number = *pt;
            for (const StaticType& known : kStatic)
                if (known.number == *pt) type.encoding = known.encoding, type.clock_rate = 8000;
        }
        return {};
    }

    Result<void> read(const Attribute& attribute) {
        struct Known {
            std::string_view name;
            Result<void> (Reader::*read)(const Attribute&);
        };
        static constexpr Known kKnown[] = {
            {"rtpmap", &Reader::rtpmap},
            {"fmtp", &Reader::fmtp},
            {"rtcp-fb", &Reader::rtcp_fb},
            {"extmap", &Reader::extmap},
            {"ssrc", &Reader::ssrc},
            {"ssrc-group", &Reader::ssrc_group},
            {"rid", &Reader::rid},
            {"simulcast", &Reader::simulcast},
            {"mid", &Reader::mid},
            {"msid", &Reader::msid},
            {"setup", &Reader::setup},
            {"fingerprint", &Reader::fingerprint},
            {"ice-ufrag", &Reader::ufrag},
            {"ice-pwd", &Reader::pwd},
            {"candidate", &Reader::candidate},
            {"ice-options", &Reader::ice_options},
            {"sendrecv", &Reader::direction},
            {"sendonly", &Reader::direction},
            {"recvonly", &Reader::direction},
            {"inactive", &Reader::direction},
            {"rtcp-mux", &Reader::flag},
            {"bundle-only", &Reader::flag},
            {"end-of-candidates", &Reader::flag},
            {"ice-lite", &Reader::flag},
        };
        for (const Known& known : kKnown)
            if (known.name == attribute.name) return (this->*known.read)(attribute);
        return {};
    }

    // Applies the feedback of "*", which may precede the payload types.
    void finish() {
        for (PayloadType& type : facts_.payload_types) {
            type.feedback.nack |= all_.nack;
            type.feedback.pli |= all_.pli;
            type.feedback.fir |= all_.fir;
            type.feedback.twcc |= all_.twcc;
            type.feedback.remb |= all_.remb;
        }
        for (auto [first, second] : pairs_)
            if (SsrcFacts* media = find(first)) {
                media->rtx = second;
                std::erase_if(facts_.ssrcs, [&](const SsrcFacts& other) { return other.ssrc == second; });
            }
        take_layers();
    }

  private:
    PayloadType* type_of(std::string_view text) {
        auto pt = number<uint8_t>(text, 127);
        return pt && index_of_type_[*pt] >= 0 ? &facts_.payload_types[static_cast<size_t>(index_of_type_[*pt])]
                                              : nullptr;
    }

    Result<void> rtpmap(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        std::string_view pt = take_word(rest);
        std::string_view name = take_word(rest, '/');
        auto rate = number<uint32_t>(take_word(rest, '/'), UINT32_MAX);
        std::string_view channels = take_word(rest);
        auto count = number<uint8_t>(channels, 255);
        if (!number<uint8_t>(pt, 127) || name.empty() || !rate || (!channels.empty() && !count)) return bad(attribute);
        if (PayloadType* type = type_of(pt)) {
            type->encoding = name;
            type->clock_rate = *rate;
            type->channels = count.value_or(1);
        }
        return {};
    }

    Result<void> fmtp(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        std::string_view pt = take_word(rest);
        if (!number<uint8_t>(pt, 127) || rest.empty() || rest.size() > kMaxFmtp) return bad(attribute);
        if (PayloadType* type = type_of(pt)) type->fmtp = rest;
        return {};
    }

    Result<void> rtcp_fb(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        std::string_view pt = take_word(rest);
        std::string_view what = take_word(rest);
        std::string_view more = take_word(rest);
        if ((pt != "*" && !number<uint8_t>(pt, 127)) || what.empty()) return bad(attribute);
        PayloadType* type = type_of(pt);
        if (pt != "*" && !type) return {};
        Feedback& feedback = type ? type->feedback : all_;
        if (what == "nack" && more.empty()) feedback.nack = true;
        if (what == "nack" && more == "pli") feedback.pli = true;
        if (what == "ccm" && more == "fir") feedback.fir = true;
        if (what == "transport-cc") feedback.twcc = true;
        if (what == "goog-remb") feedback.remb = true;
        return {};
    }

    Result<void> extmap(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        std::string_view id_text = take_word(rest);
        id_text = id_text.substr(0, id_text.find('/'));  // "3/recvonly"
        auto id = number<uint16_t>(id_text, 4351);
        std::string_view uri = take_word(rest);
        if (!id || *id == 0 || uri.empty()) return bad(attribute);
        if (*id > 14) return {};  // ids of two-byte headers are ignored
        for (size_t i = 0; i < kExtensions; ++i)
            if (kUris[i] == uri) facts_.extensions[i] = static_cast<uint8_t>(*id);
        return {};
    }

    SsrcFacts* find(uint32_t ssrc) {
        for (SsrcFacts& facts : facts_.ssrcs)
            if (facts.ssrc == ssrc) return &facts;
        return nullptr;
    }

    Result<void> ssrc(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        auto value = number<uint32_t>(take_word(rest), UINT32_MAX);
        std::string_view what = take_word(rest, ':');
        if (!value || what.empty()) return bad(attribute);
        SsrcFacts* facts = find(*value);
        if (!facts) {
            if (facts_.ssrcs.size() == MediaFacts::kMaxSsrcs) return {};
            facts = &facts_.ssrcs.emplace_back();
            facts->ssrc = *value;
        }
        if (what == "cname") facts->cname = rest.substr(0, kMaxCname);
        if (what == "msid" && facts_.msid.empty()) facts_.msid = rest.substr(0, kMaxCname);
        return {};
    }

    Result<void> ssrc_group(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        std::string_view semantics = take_word(rest);
        auto first = number<uint32_t>(take_word(rest), UINT32_MAX);
        if (semantics.empty() || !first) return bad(attribute);
        auto second = number<uint32_t>(take_word(rest), UINT32_MAX);
        if (semantics != "FID") return {};
        if (!second) return bad(attribute);
        if (pairs_.size() < MediaFacts::kMaxSsrcs) pairs_.emplace_back(*first, *second);
        return {};
    }

    Result<void> rid(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        std::string_view id = take_word(rest);
        std::string_view direction = take_word(rest);
        if (id.empty() || direction.empty()) return bad(attribute);
        if (direction == "send" && is_rid(id) && rids_.size() < kMaxRids) rids_.emplace_back(id);
        return {};
    }

    // "send a;~b recv c"; also " send rid=a;b" of the first drafts. Only one is allowed.
    Result<void> simulcast(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        for (int i = 0; i < 2 && (i == 0 || !rest.empty()); ++i) {
            std::string_view direction = take_word(rest);
            std::string_view list = take_word(rest);
            if (list.empty() && (i == 0 || !direction.empty())) return bad(attribute);
            if (direction == "send" && sent_layers_.empty()) sent_layers_ = list;
        }
        return {};
    }

    // Of alternatives, which are separated by commas, the first one counts. A layer needs an a=rid.
    void take_layers() {
        std::string_view rest = sent_layers_;
        if (rest.starts_with("rid=")) rest.remove_prefix(4);
        while (!rest.empty() && facts_.layers.size() < MediaFacts::kMaxLayers) {
            std::string_view alternatives = take_word(rest, ';');
            std::string_view id = take_word(alternatives, ',');
            const bool paused = id.starts_with('~');
            if (paused) id.remove_prefix(1);
            if (std::ranges::find(rids_, id) == rids_.end()) continue;
            if (std::ranges::find(facts_.layers, id, &Layer::rid) != facts_.layers.end()) continue;
            facts_.layers.push_back({std::string(id), paused});
        }
    }

    Result<void> mid(const Attribute& attribute) {
        const std::string& value = attribute.value;
        if (value.empty() || value.size() > kMaxMid || value.find(' ') != value.npos) return bad(attribute);
        facts_.mid = value;
        return {};
    }

    Result<void> msid(const Attribute& attribute) {
        if (attribute.value.empty()) return bad(attribute);
        facts_.msid = attribute.value.substr(0, kMaxCname);
        return {};
    }

    Result<void> setup(const Attribute& attribute) {
        const std::string& value = attribute.value;
        if (value != "actpass" && value != "active" && value != "passive") return bad(attribute);
        facts_.setup = value == "actpass" ? Setup::kActPass : value == "active" ? Setup::kActive : Setup::kPassive;
        facts_.has_setup = true;
        return {};
    }

    Result<void> fingerprint(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        std::string algorithm(take_word(rest));
        std::string_view value = take_word(rest);
        if (algorithm.empty() || value.size() < 2 || value.size() > 200) return bad(attribute);
        std::ranges::transform(algorithm, algorithm.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        // A sha-256 fingerprint is preferred to others, else the first is used.
        if (facts_.fingerprint.empty() || algorithm == "sha-256" || !own_fingerprint_)
            facts_.fingerprint = {std::move(algorithm), std::string(value)};
        own_fingerprint_ = true;
        return {};
    }

    Result<void> ufrag(const Attribute& attribute) {
        if (!is_ice_text(attribute.value, 4)) return bad(attribute);
        facts_.ice.ufrag = attribute.value;
        return {};
    }
    Result<void> pwd(const Attribute& attribute) {
        if (!is_ice_text(attribute.value, 22)) return bad(attribute);
        facts_.ice.pwd = attribute.value;
        return {};
    }

    // An unreadable candidate is no reason to refuse the others.
    Result<void> candidate(const Attribute& attribute) {
        if (facts_.candidates.size() == MediaFacts::kMaxCandidates) return {};
        if (auto parsed = Candidate::parse(attribute.value)) facts_.candidates.push_back(std::move(*parsed));
        return {};
    }

    Result<void> ice_options(const Attribute& attribute) {
        std::string_view rest = attribute.value;
        while (!rest.empty())
            if (take_word(rest) == "trickle") facts_.trickle = true;
        return {};
    }

    Result<void> direction(const Attribute& attribute) {
        for (Direction d : {Direction::kSendRecv, Direction::kSendOnly, Direction::kRecvOnly, Direction::kInactive})
            if (direction_name(d) == attribute.name) facts_.direction = d;
        return {};
    }

    Result<void> flag(const Attribute& attribute) {
        const std::string& name = attribute.name;
        if (name == "rtcp-mux") facts_.rtcp_mux = true;
        if (name == "bundle-only") facts_.bundle_only = true;
        if (name == "end-of-candidates") facts_.end_of_candidates = true;
        if (name == "ice-lite") facts_.ice_lite = true;
        return {};
    }

    MediaFacts& facts_;
    std::array<int16_t, 128> index_of_type_;  // index of a payload type in facts_.payload_types
    Feedback all_;
    std::vector<std::pair<uint32_t, uint32_t>> pairs_;
    std::vector<std::string_view> rids_;  // that the author sends
    std::string_view sent_layers_;        // of a=simulcast
    bool own_fingerprint_ = false;
};

// Attributes that may precede the first m= line and apply to all sections.
bool may_be_of_session(std::string_view name) {
    for (std::string_view known :
         {"ice-ufrag", "ice-pwd", "ice-options", "ice-lite", "fingerprint", "setup", "sendrecv", "sendonly", "recvonly",
          "inactive", "extmap", "candidate", "end-of-candidates"})
        if (known == name) return true;
    return false;
}

uint32_t read_kbps(const Section& section) {
    uint64_t kbps = 0;
    for (const auto& [type, value] : section.bandwidths) {
        if (type == "TIAS") kbps = value / 1000;
        if (type == "AS" && kbps == 0) kbps = value;
    }
    return static_cast<uint32_t>(std::min<uint64_t>(kbps, 10'000'000));
}

}  // namespace

std::string_view direction_name(Direction direction) {
    static constexpr std::string_view kNames[] = {"sendrecv", "sendonly", "recvonly", "inactive"};
    return kNames[static_cast<size_t>(direction)];
}

std::string_view setup_name(Setup setup) {
    static constexpr std::string_view kNames[] = {"actpass", "active", "passive"};
    return kNames[static_cast<size_t>(setup)];
}

std::string_view extension_uri(Extension extension) { return kUris[static_cast<size_t>(extension)]; }

bool PayloadType::is_rtx() const { return same_word(encoding, "rtx"); }

const PayloadType* MediaFacts::find(uint8_t wanted) const {
    for (const PayloadType& type : payload_types)
        if (type.number == wanted) return &type;
    return nullptr;
}

const PayloadType* MediaFacts::rtx_of(uint8_t wanted) const {
    for (const PayloadType& type : payload_types)
        if (type.is_rtx() && number<uint8_t>(parameter(type.fmtp, "apt"), 127) == wanted) return &type;
    return nullptr;
}

const PayloadType* MediaFacts::red_of(uint8_t wanted) const {
    const PayloadType* primary = find(wanted);
    for (const PayloadType& type : payload_types) {
        if (!same_word(type.encoding, "red") || !primary || type.clock_rate != primary->clock_rate) continue;
        // "111/111": the payload types of its blocks.
        if (number<uint8_t>(std::string_view(type.fmtp).substr(0, type.fmtp.find('/')), 127) == wanted) return &type;
    }
    return nullptr;
}

Result<MediaFacts> read_session(const Section& session) {
    MediaFacts facts;
    Reader reader(facts);
    for (const Attribute& attribute : session.attributes)
        if (may_be_of_session(attribute.name)) TRY(reader.read(attribute));
    return facts;
}

Result<MediaFacts> read_media(const MediaSection& media, MediaFacts inherited) {
    MediaFacts facts = std::move(inherited);
    Reader reader(facts);
    TRY(reader.formats(media));
    for (const Attribute& attribute : media.attributes) TRY(reader.read(attribute));
    reader.finish();
    facts.kbps = read_kbps(media);
    return facts;
}

}  // namespace sdp
