#include "protocol/sdp/session/write.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "media/aac.h"
#include "media/audio_headers.h"
#include "media/h264.h"
#include "protocol/sdp/session/read.h"

namespace sdp {
namespace {

using base::hex;
using media::Codec;
using media::Kind;

void add(media::TrackSet& set, Codec codec, base::Slice payload, bool header, uint8_t track = 0) {
    media::Frame frame;
    frame.kind = media::codec_info(codec).kind;
    frame.codec = codec;
    frame.sequence_header = header;
    frame.track = track;
    frame.payload = std::move(payload);
    set.update(frame);
}

base::Slice avc_config() {
    return *media::make_avc_config(hex("6742c01ed890280bfe5c0440000003004000000c83c58b8980"), hex("68c888cb20"));
}

TEST(WriteSession, AnH264AndAacStream) {
    media::TrackSet set;
    add(set, Codec::kH264, avc_config(), true);
    add(set, Codec::kAac, media::make_aac_config(2, 48000, 2), true);
    SessionText text;
    text.name = "live/s\r\nm=video 1 RTP/AVP 1";
    auto tracks = session_tracks(set);
    tracks[0].kbps = 900;
    EXPECT_EQ(write_session(text, tracks),
              "v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=live/s??m=video 1 RTP/AVP 1\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n"
              "a=control:*\r\na=range:npt=now-\r\n"
              "m=video 0 RTP/AVP 96\r\nb=AS:900\r\na=rtpmap:96 H264/90000\r\n"
              "a=fmtp:96 packetization-mode=1;profile-level-id=42c01e;"
              "sprop-parameter-sets=Z0LAHtiQKAv+XARAAAADAEAAAAyDxYuJgA==,aMiIyyA=\r\na=control:trackID=0\r\n"
              "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/48000/2\r\n"
              "a=fmtp:97 streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;"
              "config=1190\r\na=control:trackID=1\r\n");
}

TEST(WriteSession, StaticTypesManyTracksAndSkippedOnes) {
    media::TrackSet set;
    add(set, Codec::kPcmUlaw, base::Slice::copy(hex("ff")), false, 0);
    add(set, Codec::kPcmAlaw, base::Slice::copy(hex("d5")), false, 1);
    add(set, Codec::kMp3, base::Slice::copy(hex("fffb9064")), false, 2);
    add(set, Codec::kSpeex, base::Slice::copy(hex("00")), false, 3);
    add(set, Codec::kAac, base::Slice::copy(hex("2101")), false, 4);  // without its configuration
    add(set, Codec::kOpus, media::make_opus_head(2, 0, 48000), true, 5);
    std::vector<SkippedTrack> skipped;
    auto tracks = session_tracks(set, {}, &skipped);
    ASSERT_EQ(tracks.size(), 4u);
    EXPECT_EQ(tracks[0].payload_type, 0);
    EXPECT_EQ(tracks[1].payload_type, 8);
    EXPECT_EQ(tracks[2].payload_type, 14);
    EXPECT_EQ(tracks[3].payload_type, 96);
    EXPECT_EQ(tracks[3].index, 5);
    ASSERT_EQ(skipped.size(), 2u);
    EXPECT_EQ(skipped[0].reason, "Speex: RTP does not carry it");
    EXPECT_EQ(skipped[1].reason, "AAC: its configuration has not arrived");
    auto text = write_session({.address = "::1", .control = "", .range = "npt=0-"}, tracks);
    EXPECT_NE(text.find("c=IN IP6 ::1\r\n"), std::string::npos) << text;
    EXPECT_NE(text.find("a=rtpmap:14 MPA/90000\r\n"), std::string::npos) << text;
    EXPECT_NE(text.find("a=rtpmap:96 opus/48000/2\r\na=fmtp:96 sprop-stereo=1\r\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("a=control:*"), std::string::npos) << text;
}

// What we write we read.
TEST(WriteSession, IsReadAsItWasWritten) {
    media::TrackSet set;
    add(set, Codec::kH264, avc_config(), true, 0);
    add(set, Codec::kVp8, base::Slice::copy(hex("00")), false, 1);
    add(set, Codec::kAac, media::make_aac_config(2, 44100, 1), true, 0);
    add(set, Codec::kOpus, media::make_opus_head(2, 0, 48000), true, 1);
    add(set, Codec::kMp3, base::Slice::copy(hex("fffb9064")), false, 2);
    set.describe({{Kind::kAudio, 1, "eng", ""}});
    auto tracks = session_tracks(set);
    auto session = read_session_text(write_session({}, tracks), "rtsp://h/live/s");
    ASSERT_TRUE(session) << session.error().text();
    ASSERT_EQ(session->tracks.size(), tracks.size());
    EXPECT_TRUE(session->warnings.empty());
    for (size_t i = 0; i < tracks.size(); ++i) {
        const SessionTrack &one = tracks[i], &other = session->tracks[i];
        EXPECT_EQ(other.kind, one.kind) << i;
        EXPECT_EQ(other.index, one.index) << i;
        EXPECT_EQ(other.payload_type, one.payload_type) << i;
        EXPECT_EQ(other.format.codec, one.format.codec) << i;
        EXPECT_EQ(other.format.clock_rate, one.format.clock_rate) << i;
        EXPECT_EQ(other.format.aac_config, one.format.aac_config) << i;
        EXPECT_EQ(other.parameter_sets, one.parameter_sets) << i;
        EXPECT_EQ(other.language, one.language) << i;
        EXPECT_EQ(other.control, "rtsp://h/live/s/" + one.control) << i;
    }
}

}  // namespace
}  // namespace sdp
