// Arbitrary text: a description that could be read must be unchanged after writing and reading again; our answer can be
// parsed, matches the offer, and a client reads from it what we negotiated.
#include <cstddef>
#include <cstdint>

#include "protocol/sdp/fragment.h"
#include "protocol/sdp/negotiation.h"
#include "protocol/sdp/testing/offer.h"

namespace {

sdp::LocalOptions options(bool send) {
    sdp::LocalOptions local;
    local.send = send;
    for (auto codec : {media::Codec::kH264, media::Codec::kHevc, media::Codec::kAv1, media::Codec::kVp9,
                       media::Codec::kVp8, media::Codec::kOpus, media::Codec::kPcmUlaw, media::Codec::kPcmAlaw})
        local.codecs.push_back({codec, {}});
    local.extensions = {sdp::Extension::kMid, sdp::Extension::kTwcc, sdp::Extension::kAbsSendTime, sdp::Extension::kRid,
                        sdp::Extension::kRepairedRid};
    local.feedback = {true, true, true, true, true};
    local.tracks = {{media::Kind::kAudio, 1, 0}, {media::Kind::kVideo, 2, 3}};
    local.ice = {"ufrag", "0123456789012345678901"};
    local.fingerprint = {"sha-256", "AA:BB"};
    local.candidates = {sdp::host_candidate("192.0.2.1", 8000, false, 0)};
    return local;
}

// The answer names each layer once, and those of a=simulcast are those of a=rid.
void check_layers(const sdp::MediaSection& section, const sdp::NegotiatedMedia& media) {
    std::string list;
    size_t rids = 0;
    for (const sdp::Attribute& attribute : section.attributes) {
        if (attribute.name != "rid") continue;
        CHECK(rids < media.layers.size() && attribute.value == media.layers[rids].rid + " recv");
        list += (rids > 0 ? ";" : "recv ") + std::string(media.layers[rids].paused ? "~" : "") + media.layers[rids].rid;
        ++rids;
    }
    CHECK(rids == media.layers.size() && rids <= sdp::MediaFacts::kMaxLayers);
    CHECK(section.has("simulcast") == (rids > 0));
    for (const sdp::Attribute& attribute : section.attributes)
        if (attribute.name == "simulcast") CHECK(attribute.value == list);
    CHECK((media.extension_id(sdp::Extension::kRid) != 0) == (rids > 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    if (auto fragment = sdp::Fragment::parse(text)) {
        auto again = sdp::Fragment::parse(fragment->write());
        CHECK(again.has_value());
        CHECK(again->candidates == fragment->candidates && again->ice == fragment->ice);
    }
    auto offer = sdp::SessionDescription::parse(text);
    if (!offer) return 0;
    auto again = sdp::SessionDescription::parse(offer->write());
    CHECK(again.has_value() || again.error().code() == base::Code::kLimit);  // default lines may make it longer
    if (again) CHECK(*again == *offer);
    for (bool send : {false, true}) {
        auto answered = sdp::answer(*offer, options(send));
        if (!answered) continue;
        CHECK(answered->negotiated.media.size() == offer->media.size());
        auto read = sdp::SessionDescription::parse(answered->description.write());
        if (!read) {
            CHECK(read.error().code() == base::Code::kLimit);
            continue;
        }
        for (size_t i = 0; i < read->media.size(); ++i) check_layers(read->media[i], answered->negotiated.media[i]);
        auto seen = sdp::read_answer(*offer, *read);
        CHECK(seen.has_value());
        for (size_t i = 0; i < seen->media.size(); ++i) {
            CHECK(seen->media[i].rejected == answered->negotiated.media[i].rejected);
            CHECK(seen->media[i].payload_type == answered->negotiated.media[i].payload_type);
            CHECK(seen->media[i].codec == answered->negotiated.media[i].codec);
        }
    }
    return 0;
}
