#include "protocol/sdp/negotiation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "protocol/sdp/format.h"
#include "protocol/sdp/sprop.h"
#include "protocol/sdp/testing/offer.h"

namespace sdp {
namespace {

using media::Codec;
using media::Kind;

// The options of our server for sending or receiving.
LocalOptions options(bool send) {
    LocalOptions local;
    local.send = send;
    local.codecs = {{Codec::kH264, {}}, {Codec::kVp8, {}}, {Codec::kOpus, {}}};
    local.extensions = {Extension::kMid, Extension::kTwcc};
    local.feedback = {true, true, true, true, false};
    if (send) local.tracks = {{Kind::kAudio, 1001, 0}, {Kind::kVideo, 1002, 1003}};
    local.session_id = 7;
    local.ice = {"serverufrag", "serverpasswordserverpassword"};
    local.fingerprint = {"sha-256", "AA:BB"};
    local.candidates = {host_candidate("192.0.2.1", 8000, false, 0)};
    return local;
}

std::string file(const std::string& name) {
    std::ifstream in(std::filesystem::path(__FILE__).parent_path() / "corpus" / "negotiation" / name);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

base::Result<Answered> answer_text(std::string_view offer, const LocalOptions& local) {
    return answer(TRY(SessionDescription::parse(offer)), local);
}

std::string error_of(std::string_view offer, const LocalOptions& local = options(false)) {
    auto answered = answer_text(offer, local);
    return answered ? "fine" : answered.error().text();
}

// An offer of two sections, in parts that tests can change.
struct Offer {
    std::string session = "a=group:BUNDLE 0 1\r\n";
    std::string transport =
        "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\na=fingerprint:sha-256 01:02\r\na=setup:actpass\r\n"
        "a=rtcp-mux\r\n";
    std::string audio = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=sendonly\r\na=rtpmap:111 opus/48000/2\r\n";
    std::string video =
        "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:1\r\na=sendonly\r\na=rtpmap:96 H264/90000\r\n"
        "a=fmtp:96 packetization-mode=1;profile-level-id=42e01f\r\n";
    std::string text() const {
        return "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n" + session + audio + transport + video + transport;
    }
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return at == text.npos ? text : text.replace(at, from.size(), to);
}

TEST(Negotiation, AnswersAPublisher) {
    auto answered = answer_text(Offer().text(), options(false));
    ASSERT_TRUE(answered) << answered.error().text();
    EXPECT_EQ(answered->description.write(),
              "v=0\r\no=- 7 2 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=ice-lite\r\n"
              "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:serverufrag\r\n"
              "a=ice-pwd:serverpasswordserverpassword\r\na=fingerprint:sha-256 AA:BB\r\na=setup:passive\r\n"
              "a=rtcp-mux\r\na=mid:0\r\na=recvonly\r\na=rtpmap:111 opus/48000/2\r\n"
              "a=candidate:1 1 udp 2130706431 192.0.2.1 8000 typ host\r\na=end-of-candidates\r\n"
              "m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:serverufrag\r\n"
              "a=ice-pwd:serverpasswordserverpassword\r\na=fingerprint:sha-256 AA:BB\r\na=setup:passive\r\n"
              "a=rtcp-mux\r\na=mid:1\r\na=recvonly\r\na=rtpmap:96 H264/90000\r\n"
              "a=fmtp:96 packetization-mode=1;profile-level-id=42e01f\r\n"
              "a=candidate:1 1 udp 2130706431 192.0.2.1 8000 typ host\r\na=end-of-candidates\r\n");
    const Negotiated& n = answered->negotiated;
    EXPECT_EQ(n.remote_ice.ufrag, "abcd");
    EXPECT_EQ(n.remote_fingerprint, (Fingerprint{"sha-256", "01:02"}));
    EXPECT_EQ(n.setup, sdp::Setup::kPassive);
    EXPECT_EQ(n.find(Kind::kVideo)->payload_type, 96);
}

TEST(Negotiation, RedundantAudioIsAnsweredToWhoPlaysAndOffersIt) {
    Offer offer;
    offer.audio = replaced(offer.audio, "SAVPF 111", "SAVPF 111 63");
    offer.audio = replaced(offer.audio, "a=rtpmap:111 opus/48000/2\r\n",
                           "a=rtpmap:111 opus/48000/2\r\na=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\n");
    for (std::string* section : {&offer.audio, &offer.video}) *section = replaced(*section, "sendonly", "recvonly");
    for (const bool red : {true, false}) {
        LocalOptions player = options(true);
        player.red = red;
        const auto answered = answer_text(offer.text(), player);
        ASSERT_TRUE(answered) << answered.error().text();
        EXPECT_EQ(answered->negotiated.find(Kind::kAudio)->red_payload_type,
                  red ? std::optional<uint8_t>(63) : std::nullopt);
        const std::string text = answered->description.write();
        EXPECT_EQ(text.find("a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\n") != text.npos, red) << text;
        EXPECT_EQ(text.find("SAVPF 111 63\r\n") != text.npos, red) << text;
    }
    const std::string other = replaced(offer.audio, "a=fmtp:63 111/111", "a=fmtp:63 9/9");
    offer.audio = other;
    LocalOptions player = options(true);
    player.red = true;
    EXPECT_FALSE(answer_text(offer.text(), player)->negotiated.find(Kind::kAudio)->red_payload_type);
}

TEST(Negotiation, ParameterSetsOfAnOfferAreKeptAndToldToPlayersAlone) {
    const std::string sprop = "sprop-parameter-sets=Z0LAHtiQ,aMiIyyA=";
    Offer offer;
    offer.video = replaced(offer.video, "packetization-mode=1;", "packetization-mode=1; " + sprop + ";");
    auto answered = answer_text(offer.text(), options(false));
    ASSERT_TRUE(answered) << answered.error().text();
    const NegotiatedMedia& video = *answered->negotiated.find(Kind::kVideo);
    EXPECT_EQ(video.sprop, sprop);
    EXPECT_EQ(video.fmtp, "packetization-mode=1;profile-level-id=42e01f");
    EXPECT_EQ(answered->description.write().find("sprop"), std::string::npos);

    LocalOptions player = options(true);
    for (CodecWish& wish : player.codecs)
        if (wish.codec == media::Codec::kH264) wish.sprop = sprop;
    for (std::string* section : {&offer.audio, &offer.video}) *section = replaced(*section, "sendonly", "recvonly");
    answered = answer_text(offer.text(), player);
    ASSERT_TRUE(answered) << answered.error().text();
    EXPECT_NE(
        answered->description.write().find("a=fmtp:96 packetization-mode=1;profile-level-id=42e01f;" + sprop + "\r\n"),
        std::string::npos);
}

TEST(Sprop, ReadsParameterSets) {
    using Sets = std::vector<std::vector<uint8_t>>;
    const auto h264 = [](std::string_view fmtp) { return parameter_sets(media::Codec::kH264, fmtp); };
    EXPECT_EQ(h264("a=b;SPROP-parameter-sets=Z0IA,aM4=;c=d"), (Sets{{0x67, 0x42, 0}, {0x68, 0xce}}));
    EXPECT_EQ(h264("sprop-parameter-sets=Z0IA, aM4"), (Sets{{0x67, 0x42, 0}, {0x68, 0xce}}));
    for (const char* bad : {"", "sprop-parameter-sets=", "sprop-parameter-sets=Z",
                            "sprop-parameter-sets=Z0IA,,aM4=", "sprop-parameter-sets=Z0IA,a-4=", "sprop-sps=Z0IA"})
        EXPECT_TRUE(h264(bad).empty()) << bad;
    std::string many = "sprop-parameter-sets=Z0IA";
    for (size_t i = 1; i < kMaxParameterSets; ++i) many += ",Z0IA";
    EXPECT_EQ(h264(many).size(), kMaxParameterSets);
    EXPECT_TRUE(h264(many + ",Z0IA").empty());
    const std::string hevc = "sprop-vps=QAE=;sprop-sps=QgE=;sprop-pps=RAE=";
    EXPECT_EQ(parameter_sets(media::Codec::kHevc, hevc), (Sets{{0x40, 1}, {0x42, 1}, {0x44, 1}}));
    EXPECT_EQ(sprop_of(media::Codec::kHevc, "profile-id=1; " + hevc), hevc);
    EXPECT_EQ(sprop_of(media::Codec::kVp8, hevc), "");
    EXPECT_EQ(without_sprop("a=1; " + hevc + ";sprop-stereo=1"), "a=1;sprop-stereo=1");
    EXPECT_EQ(without_sprop("a=1; b=2"), "a=1; b=2");
}

TEST(Negotiation, SaysWhatSpeaksAgainstAnOffer) {
    const Offer good;
    EXPECT_EQ(error_of(good.text()), "fine");
    EXPECT_NE(error_of(good.text(), options(true)).find("audio: it is sendonly"), std::string::npos);
    Offer offer = good;
    offer.session = "";
    EXPECT_EQ(error_of(offer.text()), "audio and video must be in one a=group:BUNDLE");
    offer.session = "a=group:BUNDLE 0 7\r\n";
    EXPECT_EQ(error_of(offer.text()), "a=group:BUNDLE names '7', which no m= line is called");
    offer.session = "a=group:BUNDLE 0 0\r\n";
    EXPECT_EQ(error_of(offer.text()), "a=group:BUNDLE names '0' twice");
    offer.session = "a=group\r\n";
    EXPECT_EQ(error_of(offer.text()), "a=group without a semantics");
    offer.session = "a=group:BUNDLE 0 1\r\na=ice-lite\r\n";
    EXPECT_EQ(error_of(offer.text()), "the offer is ice-lite, as we are");
    offer = good;
    offer.video = replaced(good.video, "mid:1", "mid:0");
    EXPECT_EQ(error_of(offer.text()), "the mid '0' is there twice");
    offer = good;
    offer.transport = replaced(good.transport, "a=rtcp-mux\r\n", "");
    EXPECT_NE(error_of(offer.text()).find("video: it has no rtcp-mux"), std::string::npos);
    offer.transport = replaced(good.transport, "a=ice-ufrag:abcd\r\n", "");
    EXPECT_EQ(error_of(offer.text()), "it has no ice-ufrag and ice-pwd");
    offer.transport = replaced(good.transport, "a=fingerprint:sha-256 01:02\r\n", "");
    EXPECT_EQ(error_of(offer.text()), "it has no DTLS fingerprint");
    EXPECT_EQ(error_of("v=0\r\n"), "the offer has no media");
    EXPECT_NE(error_of(replaced(good.text(), "UDP/TLS/RTP/SAVPF 111", "RTP/AVP 111")).find("fine"), std::string::npos);
    LocalOptions vp9 = options(false);
    vp9.codecs = {{Codec::kVp9, {}}};
    EXPECT_EQ(
        error_of(good.text(), vp9),
        "nothing of the offer can be taken: audio: offered opus, wanted nothing; video: offered H264, wanted VP9");
}

TEST(Negotiation, AnAttributeCutShortIsAnError) {
    for (const char* cut : {"rtpmap:",
                            "rtpmap:111",
                            "rtpmap:111 opus",
                            "rtpmap:111 opus/",
                            "rtpmap:999 opus/48000",
                            "fmtp:",
                            "fmtp:111",
                            "rtcp-fb:",
                            "rtcp-fb:111",
                            "extmap:",
                            "extmap:1",
                            "extmap:0 urn:x",
                            "ssrc:",
                            "ssrc:1",
                            "ssrc:x cname:y",
                            "ssrc-group:",
                            "ssrc-group:FID",
                            "ssrc-group:FID 1",
                            "rid:",
                            "rid:q",
                            "simulcast:",
                            "simulcast:send",
                            "simulcast:recv q send",
                            "mid:",
                            "mid:a b",
                            "msid:",
                            "setup:",
                            "setup:holdconn",
                            "fingerprint:",
                            "fingerprint:sha-256",
                            "ice-ufrag:",
                            "ice-ufrag:abc",
                            "ice-pwd:",
                            "ice-pwd:short"}) {
        Offer offer;
        offer.audio += std::string("a=") + cut + "\r\n";
        EXPECT_NE(error_of(offer.text()).find("is cut short or wrong"), std::string::npos) << cut;
    }
}

TEST(Negotiation, RejectedLinesStayInTheirPlaces) {
    const Offer base;
    const std::string data = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:d\r\na=sctp-port:5000\r\n";
    std::string text = "v=0\r\ns=-\r\na=group:BUNDLE d 1 2 0\r\n" + data + base.video + base.transport +
                       replaced(replaced(base.video, "mid:1", "mid:2"), "m=video 9", "m=video 0") + base.transport +
                       base.audio + base.transport;
    auto answered = answer_text(text, options(false));
    ASSERT_TRUE(answered) << answered.error().text();
    const auto& media = answered->description.media;
    ASSERT_EQ(media.size(), 4u);
    EXPECT_EQ(media[0].port, 0);
    EXPECT_EQ(media[0].protocol, "UDP/DTLS/SCTP");
    EXPECT_EQ(media[0].formats, (std::vector<std::string>{"webrtc-datachannel"}));
    EXPECT_EQ(*media[0].find("mid"), "d");
    EXPECT_EQ(media[1].port, 9);
    EXPECT_EQ(media[2].port, 0);
    EXPECT_EQ(media[3].port, 9);
    EXPECT_EQ(*answered->description.find("group"), "BUNDLE 1 0");
}

TEST(Negotiation, TheSetupFollowsTheOffer) {
    struct Case {
        const char* offered;
        sdp::Setup wanted, expected;
    };
    for (auto [offered, wanted, expected] : {Case{"a=setup:actpass", sdp::Setup::kPassive, sdp::Setup::kPassive},
                                             Case{"a=setup:actpass", sdp::Setup::kActive, sdp::Setup::kActive},
                                             Case{"a=setup:active", sdp::Setup::kActive, sdp::Setup::kPassive},
                                             Case{"a=setup:passive", sdp::Setup::kPassive, sdp::Setup::kActive},
                                             Case{"a=x", sdp::Setup::kActive, sdp::Setup::kPassive}}) {
        Offer offer;
        offer.transport = replaced(offer.transport, "a=setup:actpass", offered);
        LocalOptions local = options(false);
        local.setup = wanted;
        auto answered = answer_text(offer.text(), local);
        ASSERT_TRUE(answered);
        EXPECT_EQ(answered->negotiated.setup, expected) << offered;
        EXPECT_EQ(*answered->description.media[0].find("setup"), setup_name(expected));
    }
}

TEST(Negotiation, ASenderTellsItsSsrcs) {
    Offer offer;
    offer.audio = replaced(offer.audio, "sendonly", "recvonly");
    offer.video = replaced(offer.video, "sendonly", "sendrecv");
    offer.video = replaced(offer.video, "SAVPF 96", "SAVPF 96 97");
    offer.video +=
        "a=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\na=rtcp-fb:* nack\r\na=rtcp-fb:96 nack pli\r\n"
        "a=rtcp-fb:96 goog-remb\r\na=extmap:3/recvonly urn:ietf:params:rtp-hdrext:sdes:mid\r\n"
        "a=extmap:4 urn:not:known\r\n";
    auto answered = answer_text(offer.text(), options(true));
    ASSERT_TRUE(answered) << answered.error().text();
    const NegotiatedMedia& video = *answered->negotiated.find(Kind::kVideo);
    EXPECT_EQ(video.rtx_payload_type, 97);
    EXPECT_EQ(video.feedback, (Feedback{true, true, false, false, false}));
    EXPECT_EQ(video.extension_id(Extension::kMid), 3);
    EXPECT_EQ(video.extension_id(Extension::kTwcc), 0);
    const std::string text = answered->description.write();
    for (const char* line :
         {"a=sendonly\r\n", "a=ssrc-group:FID 1002 1003\r\n", "a=ssrc:1002 cname:srs\r\n",
          "a=ssrc:1003 msid:srs srs-video\r\n", "a=ssrc:1001 cname:srs\r\n", "m=video 9 UDP/TLS/RTP/SAVPF 96 97\r\n",
          "a=rtcp-fb:96 nack\r\n", "a=rtcp-fb:96 nack pli\r\n", "a=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n",
          "a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid\r\n"})
        EXPECT_NE(text.find(line), text.npos) << line << text;
    LocalOptions odd = options(true);
    odd.stream_id = "live-a b\xc3\xbc/" + std::string(100, 'x');
    const std::string odd_text = answer_text(offer.text(), odd)->description.write();
    const std::string id = "live-a_b___" + std::string(47, 'x');
    EXPECT_NE(odd_text.find("a=msid:" + id + " " + id + "-video\r\n"), odd_text.npos) << odd_text;
    EXPECT_EQ(text.find("goog-remb"), text.npos);
    EXPECT_EQ(text.find("urn:not:known"), text.npos);
}

TEST(Negotiation, APublisherMayBeToldToBeginWithItsRate) {
    Offer offer;
    offer.video = replaced(offer.video, "a=mid:1", "b=AS:2500\r\na=mid:1");
    LocalOptions local = options(false);
    auto answered = answer_text(offer.text(), local);
    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->negotiated.find(Kind::kVideo)->kbps, 2500u);
    EXPECT_EQ(answered->description.write().find("x-google"), std::string::npos);
    local.start_at_offered_rate = true;
    answered = answer_text(offer.text(), local);
    ASSERT_TRUE(answered);
    EXPECT_NE(answered->description.write().find(
                  "a=fmtp:96 packetization-mode=1;profile-level-id=42e01f;x-google-start-bitrate=2500\r\n"),
              std::string::npos);
}

// A publisher's video with these attributes, and an id for the rid of its packets.
base::Result<Answered> answer_layers(std::string_view attributes, std::string_view extension = "rtp-stream-id") {
    Offer offer;
    offer.video += fmt::format("a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:{}\r\n", extension);
    offer.video += "a=extmap:5 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id\r\n";
    offer.video += attributes;
    LocalOptions local = options(false);
    local.extensions.insert(local.extensions.end(), {Extension::kRid, Extension::kRepairedRid});
    return answer_text(offer.text(), local);
}

TEST(Negotiation, LayersAreAnsweredInTheirOrder) {
    struct Case {
        const char* offered;
        const char* answered;  // of a=simulcast; empty: none
    };
    for (const auto& [offered, answered] : {
             Case{"a=rid:q send\r\na=rid:h send\r\na=rid:f send\r\na=simulcast:send q;h;f\r\n", "recv q;h;f"},
             // Before the rids, restricted, and the largest first.
             Case{"a=simulcast:send 2;1\r\na=rid:2 send pt=96;max-width=1280\r\na=rid:1 send max-fps=30\r\n",
                  "recv 2;1"},
             Case{"a=rid:a send\r\na=rid:b send\r\na=simulcast: send rid=a;b\r\n", "recv a;b"},
             Case{"a=rid:a send\r\na=rid:b send\r\na=rid:c recv\r\na=simulcast:recv c send a;~b\r\n", "recv a;~b"},
             // Of alternatives the first; one without a=rid, and a second time the same.
             Case{"a=rid:a send\r\na=rid:b send\r\na=rid:c send\r\na=simulcast:send a,b;d;c;a\r\n", "recv a;c"},
             Case{"a=rid:1 send\r\na=rid:2 send\r\na=rid:3 send\r\na=rid:4 send\r\na=simulcast:send 1;2;3;4\r\n",
                  "recv 1;2;3"},
             Case{"a=rid:a-rid-of-seventeen send\r\na=rid:b.c send\r\na=simulcast:send a-rid-of-seventeen;b.c\r\n", ""},
             Case{"a=rid:a send\r\na=simulcast:recv a\r\n", ""},
             Case{"a=rid:a send\r\n", ""},
             Case{"a=simulcast:send a;b\r\n", ""},
         }) {
        auto result = answer_layers(offered);
        ASSERT_TRUE(result) << result.error().text() << offered;
        const MediaSection& section = result->description.media[1];
        const std::string* list = section.find("simulcast");
        EXPECT_EQ(list ? *list : "", answered) << offered;
        const NegotiatedMedia& video = *result->negotiated.find(Kind::kVideo);
        EXPECT_EQ(video.layers.size(),
                  static_cast<size_t>(std::ranges::count(section.attributes, "rid", &Attribute::name)));
        for (const Layer& layer : video.layers)
            EXPECT_EQ(std::ranges::count(section.attributes, Attribute{"rid", layer.rid + " recv"}), 1) << offered;
        EXPECT_EQ(video.extension_id(Extension::kRid), list ? 4 : 0) << offered;
        EXPECT_EQ(video.extension_id(Extension::kRepairedRid), list ? 5 : 0) << offered;
    }
}

TEST(Negotiation, LayersThatNoPacketNamesAreOne) {
    auto result = answer_layers("a=rid:q send\r\na=rid:h send\r\na=simulcast:send q;h\r\n", "another");
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->negotiated.find(Kind::kVideo)->layers.empty());
    EXPECT_FALSE(result->description.media[1].has("simulcast"));
}

// RFC 6184, 8.2.2: the offered profile and mode that match best.
TEST(Negotiation, H264sBestFormatIsTaken) {
    const char* formats[] = {
        "packetization-mode=0;profile-level-id=42e01f", "packetization-mode=1;profile-level-id=42001f",
        "packetization-mode=1;profile-level-id=42e01f", "profile-level-id=4d001f;packetization-mode=1",
        "profile-level-id=640c1f;packetization-mode=1", "profile-level-id=64001f;packetization-mode=1"};
    std::string section = "m=video 9 UDP/TLS/RTP/SAVPF 100 101 102 103 104 105\r\na=mid:1\r\na=sendrecv\r\n";
    for (int i = 0; i < 6; ++i)
        section += "a=rtpmap:10" + std::to_string(i) + " H264/90000\r\na=fmtp:10" + std::to_string(i) + " " +
                   formats[i] + "\r\n";
    auto chosen = [&](const char* wanted) {
        Offer offer;
        offer.video = section;
        LocalOptions local = options(false);
        local.codecs = {{Codec::kH264, wanted}};
        auto answered = answer_text(offer.text(), local);
        return answered ? answered->negotiated.find(Kind::kVideo)->payload_type : 0;
    };
    EXPECT_EQ(chosen(""), 102);
    EXPECT_EQ(chosen("profile-level-id=42e01f;packetization-mode=0"), 100);
    EXPECT_EQ(chosen("profile-level-id=420029;packetization-mode=1"), 101);
    EXPECT_EQ(chosen("profile-level-id=4d4028;packetization-mode=1"), 103);
    EXPECT_EQ(chosen("profile-level-id=640028;packetization-mode=1"), 105);
    EXPECT_EQ(chosen("profile-level-id=640c28;packetization-mode=1"), 104);
}

TEST(Format, ProfilesOfH264) {
    EXPECT_EQ(h264_profile("42e01f"), H264Profile::kConstrainedBaseline);
    EXPECT_EQ(h264_profile("42C01e"), H264Profile::kConstrainedBaseline);
    EXPECT_EQ(h264_profile("42001f"), H264Profile::kBaseline);
    EXPECT_EQ(h264_profile("4d0032"), H264Profile::kMain);
    EXPECT_EQ(h264_profile("4d401f"), H264Profile::kMain);
    EXPECT_EQ(h264_profile("640032"), H264Profile::kHigh);
    EXPECT_EQ(h264_profile("640c32"), H264Profile::kConstrainedHigh);
    EXPECT_EQ(h264_profile(""), H264Profile::kBaseline);
    EXPECT_EQ(h264_profile("64"), H264Profile::kUnknown);
    EXPECT_EQ(h264_profile("zz001f"), H264Profile::kUnknown);
    EXPECT_EQ(profile_level_id(0x42, 0xe0, 0x1f), "42e01f");
    EXPECT_EQ(parameter("a=1; Profile-Id=2 ;c", "profile-id"), "2");
    EXPECT_EQ(parameter("a=1;c", "c"), "");
}

// Real offers of clients, by file name, and the expected result.
struct Peer {
    const char* name;
    bool send;
    int video, rtx, audio;  // payload types; -1: none
};
void PrintTo(const Peer& peer, std::ostream* out) { *out << peer.name; }

class PeerTest : public testing::TestWithParam<Peer> {};

TEST_P(PeerTest, IsAnswered) {
    const Peer& peer = GetParam();
    const std::string offer = file(peer.name);
    ASSERT_FALSE(offer.empty()) << peer.name;
    auto answered = answer_text(offer, options(peer.send));
    ASSERT_TRUE(answered) << answered.error().text();
    const NegotiatedMedia* video = answered->negotiated.find(Kind::kVideo);
    const NegotiatedMedia* audio = answered->negotiated.find(Kind::kAudio);
    EXPECT_EQ(video ? video->payload_type : -1, peer.video);
    EXPECT_EQ(video && video->rtx_payload_type ? *video->rtx_payload_type : -1, peer.rtx);
    EXPECT_EQ(audio ? audio->payload_type : -1, peer.audio);
    EXPECT_GE(answered->negotiated.remote_ice.pwd.size(), 22u);
    EXPECT_EQ(answered->negotiated.remote_fingerprint.algorithm, "sha-256");
    // The client's reading of our answer agrees with ours.
    auto seen = read_answer(*SessionDescription::parse(offer), answered->description);
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->remote_ice.ufrag, "serverufrag");
    for (Kind kind : {Kind::kVideo, Kind::kAudio}) {
        const NegotiatedMedia* ours = answered->negotiated.find(kind);
        const NegotiatedMedia* theirs = seen->find(kind);
        ASSERT_EQ(ours == nullptr, theirs == nullptr);
        if (!ours) continue;
        EXPECT_EQ(ours->codec, theirs->codec);
        EXPECT_EQ(ours->fmtp, theirs->fmtp);
        EXPECT_EQ(ours->extensions, theirs->extensions);
        EXPECT_EQ(ours->feedback, theirs->feedback);
    }
}

// The offers of Chromium, aiortc, pion and FFmpeg were recorded; the others were written by hand in the style of those
// clients.
INSTANTIATE_TEST_SUITE_P(
    Offers, PeerTest,
    testing::Values(Peer{"small", false, 96, -1, 111}, Peer{"chromium_whip", false, 108, 109, 111},
                    Peer{"chromium_whep", true, 108, 109, 111}, Peer{"chromium_simulcast", false, 108, 109, 111},
                    Peer{"aiortc_whip", false, 101, 102, 96}, Peer{"aiortc_whep", true, 101, 102, 96},
                    Peer{"pion_whip", false, 96, 97, 111}, Peer{"pion_whep", true, 96, 97, 111},
                    Peer{"ffmpeg_whip", false, 106, 105, 111}, Peer{"firefox_whep", true, 126, 127, 109},
                    Peer{"safari_whip", false, 98, 99, 111}, Peer{"obs_whip", false, 96, -1, 111},
                    Peer{"obs_simulcast", false, 96, -1, 111}, Peer{"gstreamer_whip", false, 96, -1, 97}));

TEST(Offer, IsAnsweredByUs) {
    for (bool send : {true, false}) {
        LocalOptions client = options(send);
        client.setup = sdp::Setup::kActPass;
        client.ice = {"clientufrag", "clientpasswordclientpassword"};
        client.candidates.clear();
        SessionDescription offer = make_offer(client);
        auto parsed = SessionDescription::parse(offer.write());
        ASSERT_TRUE(parsed);
        auto answered = answer(*parsed, options(!send));
        ASSERT_TRUE(answered) << answered.error().text() << offer.write();
        auto text = answered->description.write();
        auto seen = read_answer(offer, *SessionDescription::parse(text));
        ASSERT_TRUE(seen) << seen.error().text() << text;
        EXPECT_EQ(seen->remote_ice.ufrag, "serverufrag");
        EXPECT_TRUE(seen->remote_is_lite);
        EXPECT_EQ(seen->setup, sdp::Setup::kActive);
        ASSERT_EQ(seen->remote_candidates.size(), 1u);
        EXPECT_EQ(seen->remote_candidates[0].port, 8000);
        const NegotiatedMedia* video = seen->find(Kind::kVideo);
        ASSERT_TRUE(video);
        EXPECT_EQ(video->codec, Codec::kH264);
        EXPECT_TRUE(video->rtx_payload_type);
        EXPECT_EQ(video->extension_id(Extension::kTwcc), 2);
        if (!send) {
            ASSERT_EQ(video->ssrcs.size(), 1u);
            EXPECT_EQ(video->ssrcs[0].ssrc, 1002u);
            EXPECT_EQ(video->ssrcs[0].rtx, 1003u);
        } else {
            EXPECT_EQ(answered->negotiated.find(Kind::kVideo)->ssrcs.at(0).rtx, 1003u);
        }
    }
}

// The largest input within the limits is not disproportionately expensive.
TEST(Negotiation, TheWorstWithinTheBoundsIsQuick) {
    std::string session_lines = "v=0\r\n", many_media = "v=0\r\n", ssrcs = Offer().text();
    while (session_lines.size() < 60'000) session_lines += "a=setup:active\r\n";
    for (int i = 0; i < 64; ++i) session_lines += "m=audio 9 RTP/SAVPF 0\r\na=mid:" + std::to_string(i) + "\r\n";
    while (ssrcs.size() < 65'000) ssrcs += "a=ssrc:" + std::to_string(ssrcs.size()) + " cname:x\r\n";
    for (const std::string& text : {session_lines, ssrcs}) {
        ASSERT_LE(text.size(), kMaxBytes);
        auto began = std::chrono::steady_clock::now();
        error_of(text);
        // Takes about 10 ms; quadratic behavior would take seconds, and the sanitizers ten times as long.
        EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
    }
}

}  // namespace
}  // namespace sdp
