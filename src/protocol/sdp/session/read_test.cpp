#include "protocol/sdp/session/read.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace sdp {
namespace {

using base::hex;
using media::Codec;
using media::Kind;

constexpr std::string_view kBase = "rtsp://192.0.2.9/stream/";

ReadSession read(std::string_view text, std::string_view base = kBase) {
    auto session = read_session_text(text, base);
    EXPECT_TRUE(session) << session.error().text();
    return session ? *std::move(session) : ReadSession();
}

// The reason why the only track of a description is skipped; "" where it is not.
std::string reason(std::string_view media) {
    auto session = read("v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n" + std::string(media));
    EXPECT_EQ(session.tracks.size() + session.skipped.size(), 1u) << media;
    return session.skipped.empty() ? std::string() : session.skipped[0].reason;
}

// As Hikvision's cameras have it: controls are absolute, an application track, recvonly, profile-level-id before the
// parameter sets.
TEST(ReadSession, Hikvision) {
    auto session = read(
        "v=0\r\no=- 1643036362112233 1643036362112233 IN IP4 192.0.2.64\r\ns=Media "
        "Presentation\r\ne=NONE\r\nb=AS:5100\r\n"
        "t=0 0\r\na=control:rtsp://192.0.2.64/Streaming/Channels/101/\r\n"
        "m=video 0 RTP/AVP 96\r\nc=IN IP4 0.0.0.0\r\nb=AS:5000\r\na=recvonly\r\na=x-dimensions:1920,1080\r\n"
        "a=control:rtsp://192.0.2.64/Streaming/Channels/101/trackID=1\r\na=rtpmap:96 H264/90000\r\n"
        "a=fmtp:96 profile-level-id=420029; packetization-mode=1; "
        "sprop-parameter-sets=Z00AKpWoHgCJ+WbgICAoAAAfQAAGGoQg,aO48gA==\r\n"
        "m=audio 0 RTP/AVP 8\r\nc=IN IP4 0.0.0.0\r\nb=AS:50\r\na=recvonly\r\n"
        "a=control:rtsp://192.0.2.64/Streaming/Channels/101/trackID=2\r\na=rtpmap:8 PCMA/8000\r\n"
        "a=Media_header:MEDIAINFO=494D4B48010300000400000111710110401F000000FA000000000000000000000000000000000000;\r\n"
        "m=application 0 RTP/AVP 107\r\na=control:rtsp://192.0.2.64/Streaming/Channels/101/trackID=3\r\n"
        "a=rtpmap:107 vnd.onvif.metadata/90000\r\n",
        "rtsp://192.0.2.64:554/Streaming/Channels/101");
    ASSERT_EQ(session.tracks.size(), 2u);
    EXPECT_EQ(session.control, "rtsp://192.0.2.64/Streaming/Channels/101/");
    const SessionTrack& video = session.tracks[0];
    EXPECT_EQ(video.format.codec, Codec::kH264);
    EXPECT_FALSE(video.format.single_nalus);
    EXPECT_EQ(video.payload_type, 96);
    EXPECT_EQ(video.kbps, 5000u);
    EXPECT_EQ(video.direction, Direction::kRecvOnly);
    EXPECT_EQ(video.control, "rtsp://192.0.2.64/Streaming/Channels/101/trackID=1");
    ASSERT_EQ(video.parameter_sets.size(), 2u);
    EXPECT_EQ(video.parameter_sets[1], hex("68ee3c80"));
    EXPECT_EQ(session.tracks[1].format.codec, Codec::kPcmAlaw);
    EXPECT_EQ(session.tracks[1].format.clock_rate, 8000u);
    ASSERT_EQ(session.skipped.size(), 1u);
    EXPECT_EQ(session.skipped[0].media, 2u);
    EXPECT_EQ(session.skipped[0].reason, "application: neither video nor audio");
}

// Dahua: a query in the URL, controls in another order than the tracks, a back channel.
TEST(ReadSession, Dahua) {
    auto session = read(
        "v=0\r\no=- 2251938191 2251938191 IN IP4 0.0.0.0\r\ns=RTSP Session/2.0\r\nc=IN IP4 0.0.0.0\r\nt=0 "
        "0\r\na=control:*\r\n"
        "a=packetization-supported:DH\r\na=rtppayload-supported:DH\r\na=range:npt=now-\r\n"
        "m=video 0 RTP/AVP 98\r\na=control:trackID=1\r\na=framerate:25.000000\r\na=rtpmap:98 H265/90000\r\n"
        "a=fmtp:98 profile-id=1;sprop-sps=QgEBAWAAAAMAsAAAAwAAAwBdoAKAgC0WWVmkkyuAQAAA+kAAF3AC;sprop-pps=RAHgdrAmQA==;"
        "sprop-vps=QAEMAf//AWAAAAMAsAAAAwAAAwBdqgJA\r\na=recvonly\r\n"
        "m=audio 0 RTP/AVP 97\r\na=control:trackID=0\r\na=rtpmap:97 MPEG4-GENERIC/16000\r\n"
        "a=fmtp:97 streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;"
        "config=1408\r\na=recvonly\r\n"
        "m=audio 0 RTP/AVP 8\r\na=control:trackID=5\r\na=rtpmap:8 PCMA/8000\r\na=sendonly\r\n",
        "rtsp://192.0.2.8:554/cam/realmonitor?channel=1&subtype=0/");
    ASSERT_EQ(session.tracks.size(), 3u);
    EXPECT_EQ(session.range, "npt=now-");
    EXPECT_EQ(session.tracks[0].format.codec, Codec::kHevc);
    EXPECT_EQ(session.tracks[0].control, "rtsp://192.0.2.8:554/cam/realmonitor?channel=1&subtype=0/trackID=1");
    ASSERT_EQ(session.tracks[0].parameter_sets.size(), 3u);
    EXPECT_EQ(session.tracks[0].parameter_sets[0][0], 0x40);  // vps, sps, pps
    EXPECT_EQ(session.tracks[1].format.aac_config, base::Slice::copy(hex("1408")));
    EXPECT_EQ(session.tracks[1].format.clock_rate, 16000u);
    EXPECT_EQ(session.tracks[1].index, 0);
    EXPECT_EQ(session.tracks[2].index, 1);
    EXPECT_EQ(session.tracks[2].direction, Direction::kSendOnly);
    EXPECT_TRUE(session.warnings.empty());
}

// Axis: absolute controls with a query behind "stream=0", attributes of its own.
TEST(ReadSession, Axis) {
    auto session = read(
        "v=0\r\no=- 9125712823912381112 1 IN IP4 192.0.2.7\r\ns=Session streamed with "
        "GStreamer\r\ni=rtsp-server\r\nt=0 0\r\n"
        "a=tool:GStreamer\r\na=type:broadcast\r\na=range:npt=now-\r\n"
        "a=control:rtsp://192.0.2.7/axis-media/media.amp?videocodec=h264\r\n"
        "m=video 0 RTP/AVP 96\r\nc=IN IP4 0.0.0.0\r\nb=AS:50000\r\na=rtpmap:96 H264/90000\r\n"
        "a=fmtp:96 "
        "packetization-mode=1;profile-level-id=4d0029;sprop-parameter-sets=Z00AKeKQDwBE/LgLcBAQGkHiRFQ=,aO48gA==\r\n"
        "a=ts-refclk:local\r\na=mediaclk:sender\r\na=recvonly\r\n"
        "a=control:rtsp://192.0.2.7/axis-media/media.amp/stream=0?videocodec=h264\r\na=framerate:30.000000\r\n"
        "a=transform:1.000000,0.000000,0.000000;0.000000,1.000000,0.000000;0.000000,0.000000,1.000000\r\n"
        "m=audio 0 RTP/AVP 97\r\nc=IN IP4 0.0.0.0\r\na=rtpmap:97 OPUS/48000/2\r\na=fmtp:97 sprop-stereo=0\r\n"
        "a=control:rtsp://192.0.2.7/axis-media/media.amp/stream=1?videocodec=h264\r\n");
    ASSERT_EQ(session.tracks.size(), 2u);
    EXPECT_EQ(session.control, "rtsp://192.0.2.7/axis-media/media.amp?videocodec=h264");
    EXPECT_EQ(session.tracks[0].control, "rtsp://192.0.2.7/axis-media/media.amp/stream=0?videocodec=h264");
    EXPECT_EQ(session.tracks[1].format.codec, Codec::kOpus);
    EXPECT_EQ(session.tracks[1].format.channels, 2);
}

// ffmpeg's ANNOUNCE: streamid, no control for the session, the parameter sets with profile-level-id behind.
TEST(ReadSession, Ffmpeg) {
    auto session = read(
        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=No Name\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\na=tool:libavformat 61.7.100\r\n"
        "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1; "
        "sprop-parameter-sets=Z2QAHqzZQKAv+XARAAADAAEAAAMAMg8WLZY=,aOvjyyLA; profile-level-id=64001E\r\n"
        "a=control:streamid=0\r\n"
        "m=audio 0 RTP/AVP 97\r\nb=AS:128\r\na=rtpmap:97 MPEG4-GENERIC/44100/2\r\n"
        "a=fmtp:97 profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3; "
        "config=121056E500\r\n"
        "a=control:streamid=1\r\n"
        "m=audio 0 RTP/AVP 98\r\na=rtpmap:98 MP4A-LATM/44100/2\r\n"
        "a=fmtp:98 profile-level-id=15;cpresent=0;config=400023203fc0\r\na=control:streamid=2\r\n",
        "rtsp://192.0.2.1:8554/live/s");
    ASSERT_EQ(session.tracks.size(), 3u);
    EXPECT_EQ(session.control, "rtsp://192.0.2.1:8554/live/s");
    EXPECT_EQ(session.tracks[0].parameter_sets.size(), 2u);
    EXPECT_EQ(session.tracks[1].control, "rtsp://192.0.2.1:8554/live/s/streamid=1");
    EXPECT_EQ(session.tracks[1].format.aac_config, base::Slice::copy(hex("121056e500")));
    EXPECT_EQ(session.tracks[1].kbps, 128u);
    EXPECT_TRUE(session.tracks[2].format.latm);
    EXPECT_FALSE(session.tracks[2].format.latm_config_in_band);
    EXPECT_EQ(session.tracks[2].format.latm_config, base::Slice::copy(hex("400023203fc0")));
    EXPECT_EQ(find_track(session, "rtsp://192.0.2.1:8554/live/s/streamid=1"), 1u);
    EXPECT_EQ(find_track(session, "rtsp://localhost/live/s/streamid=2"), 2u);
    EXPECT_EQ(find_track(session, "streamid=2"), 2u);
    EXPECT_EQ(find_track(session, "2"), std::nullopt);
    EXPECT_EQ(find_track(session, ""), std::nullopt);
    EXPECT_EQ(find_track(session, "rtsp://192.0.2.1:8554/live/s/streamid=3"), std::nullopt);
    EXPECT_EQ(find_track(session, "rtsp://192.0.2.1:8554/live/s"), std::nullopt);
}

// Clients differ in where they put a control when the session's URL has a query.
TEST(ReadSession, AControlStandsBeforeOrBehindTheQuery) {
    const auto session = read(
        "v=0\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\na=control:streamid=0\n"
        "m=audio 0 RTP/AVP 0\na=control:streamid=1\n",
        "rtsp://h/live/s?token=a/b&x=1");
    ASSERT_EQ(session.tracks.size(), 2u);
    EXPECT_EQ(find_track(session, "rtsp://h/live/s?token=a/b&x=1/streamid=1"), 1u);
    EXPECT_EQ(find_track(session, "rtsp://h/live/s/streamid=1?token=a/b&x=1"), 1u);
    EXPECT_EQ(find_track(session, "RTSP://H/live/s/streamid=0?token=a/b&x=1/"), 0u);
    EXPECT_EQ(find_track(session, "rtsp://h/live/s/streamid=1?token=other"), std::nullopt);
    EXPECT_EQ(find_track(session, "rtsp://h/live/s/streamid=2?token=a/b&x=1"), std::nullopt);
}

TEST(ReadSession, LinesAndPortsThatDevicesLeaveOutOrGetWrong) {
    EXPECT_EQ(read("m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\n").tracks.size(), 1u) << "no line of the session";
    EXPECT_EQ(reason("m=video -1353744643 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"), "");
    EXPECT_EQ(reason("m=video 70000 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"), "");
    EXPECT_FALSE(read_session_text("", kBase));
}

// rtspclientsink: sendonly, LF alone, a codec that is not supported, a static type without rtpmap.
TEST(ReadSession, GStreamer) {
    auto session = read(
        "v=0\no=- 1188340656180883 1 IN IP4 192.0.2.5\ns=Session streamed with GStreamer\ni=rtsp-client-sink\nt=0 0\n"
        "a=tool:GStreamer\na=type:broadcast\na=control:*\n"
        "m=video 0 RTP/AVP 96\nc=IN IP4 0.0.0.0\nb=AS:2048\na=rtpmap:96 H265/90000\n"
        "a=fmtp:96 "
        "sprop-vps=QAEMAf//AWAAAAMAkAAAAwAAAwBdlZgJ;sprop-sps=QgEBAWAAAAMAkAAAAwAAAwBdoAKAgC0WWVmkkyvAQEAAAEAAAAZC;"
        "sprop-pps=RAHBc9CJ\na=sendonly\na=control:stream=0\n"
        "m=audio 0 RTP/AVP 97\nc=IN IP4 0.0.0.0\na=rtpmap:97 VORBIS/48000/2\na=control:stream=1\n"
        "m=audio 0 RTP/AVP 14 0\na=control:stream=2\n");
    ASSERT_EQ(session.tracks.size(), 2u);
    EXPECT_EQ(session.tracks[0].parameter_sets.size(), 3u);
    ASSERT_EQ(session.skipped.size(), 1u);
    EXPECT_EQ(session.skipped[0].reason, "VORBIS: not supported");
    EXPECT_EQ(session.tracks[1].format.codec, Codec::kMp3);  // static, without rtpmap
    EXPECT_EQ(session.tracks[1].format.clock_rate, 90000u);
    EXPECT_EQ(session.tracks[1].payload_type, 14);
}

// A plugin of OBS: AV1 without fmtp, AAC's parameters in another case.
TEST(ReadSession, Obs) {
    auto session = read(
        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=obs\r\nt=0 0\r\na=tool:OBS\r\n"
        "m=video 0 RTP/AVP 96\r\na=rtpmap:96 AV1/90000\r\na=control:trackID=0\r\n"
        "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/48000/2\r\n"
        "a=fmtp:97 streamtype=5; mode=AAC-hbr; config=1190; SizeLength=13; IndexLength=3; IndexDeltaLength=3;\r\n"
        "a=control:trackID=1\r\n");
    ASSERT_EQ(session.tracks.size(), 2u);
    EXPECT_EQ(session.tracks[0].format.codec, Codec::kAv1);
    EXPECT_EQ(session.tracks[1].format.size_length, 13);
    EXPECT_EQ(session.tracks[1].format.channels, 2);
}

TEST(ReadSession, AacWithAWrongOrNoConfiguration) {
    const auto with = [](std::string_view fmtp) {
        return read("v=0\r\nm=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/16000/1\r\n" + std::string(fmtp));
    };
    auto none = with("");
    ASSERT_EQ(none.tracks.size(), 1u);
    EXPECT_EQ(none.tracks[0].format.size_length, 13);
    EXPECT_TRUE(none.tracks[0].format.aac_config.empty());
    EXPECT_EQ(none.warnings, std::vector<std::string>{"AAC: config is missing, and taken from rtpmap"});
    EXPECT_EQ(none.tracks[0].control, none.control);  // the only track needs no control URL

    auto broken = with("a=fmtp:97 mode=AAC-hbr;config=zz\r\n");
    EXPECT_EQ(broken.warnings, std::vector<std::string>{"AAC: config is malformed, and taken from rtpmap"});
    auto other = with("a=fmtp:97 mode=AAC-hbr;config=1190\r\n");
    EXPECT_EQ(other.warnings, std::vector<std::string>{"AAC: config has 48000 Hz, rtpmap 16000"});
    EXPECT_EQ(other.tracks[0].format.clock_rate, 16000u);
    auto lbr = with("a=fmtp:97 mode=AAC-lbr;config=\"1408\"\r\n");
    EXPECT_EQ(lbr.tracks[0].format.size_length, 6);
    EXPECT_EQ(lbr.tracks[0].format.aac_config, base::Slice::copy(hex("1408")));
}

TEST(ReadSession, UnusableTracksHaveAReason) {
    const std::string video = "m=video 0 RTP/AVP 96\r\na=control:1\r\n",
                      audio = "m=audio 0 RTP/AVP 97\r\na=control:1\r\n";
    EXPECT_EQ(reason(video + "a=rtpmap:96 H264/90000\r\n"), "");
    EXPECT_EQ(reason(video), "payload type 96 without rtpmap");
    EXPECT_EQ(reason(video + "a=rtpmap:96 H263-1998/90000\r\n"), "H263-1998: not supported");
    EXPECT_EQ(reason(video + "a=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=2\r\n"),
              "H264: interleaved packets (packetization-mode=2) are not supported");
    EXPECT_EQ(reason(video + "a=rtpmap:96 H265/90000\r\na=fmtp:96 sprop-max-don-diff=2\r\n"),
              "H265: interleaved packets (sprop-max-don-diff) are not supported");
    EXPECT_EQ(reason(video + "a=rtpmap:96 H264/7\r\n"), "a clock rate of 7 Hz");
    EXPECT_EQ(reason(video + "a=rtpmap:96 PCMU/8000\r\n"), "audio in an m= line of video");
    EXPECT_EQ(reason(audio + "a=rtpmap:97 mpeg4-generic/48000\r\na=fmtp:97 mode=AAC-hbr;maxDisplacement=5\r\n"),
              "AAC: interleaved access units are not supported");
    EXPECT_EQ(reason(audio + "a=rtpmap:97 mpeg4-generic/48000\r\na=fmtp:97 mode=CELP-cbr\r\n"),
              "mpeg4-generic: mode CELP-cbr is not supported");
    EXPECT_EQ(reason(audio + "a=rtpmap:97 mpeg4-generic/48000\r\na=fmtp:97 sizelength=17\r\n"), "AAC: sizelength=17");
    EXPECT_EQ(reason(audio + "a=rtpmap:97 mpeg4-generic/48000\r\na=fmtp:97 CTSDeltaLength=8\r\n"),
              "AAC: ctsdeltalength is not supported");
    EXPECT_EQ(reason(audio + "a=rtpmap:97 MP4A-LATM/48000\r\na=fmtp:97 cpresent=0\r\n"),
              "AAC: MP4A-LATM without a valid config");
    EXPECT_EQ(reason(audio + "a=rtpmap:97 MP4A-LATM/48000\r\na=fmtp:97 cpresent=0;config=c00023203fc0\r\n"),
              "AAC: StreamMuxConfig: audioMuxVersion 1 is not supported");
    EXPECT_EQ(reason(audio + "a=rtpmap:97 PCMA/16000\r\n"),
              "G.711 of more than 8000 Hz or one channel is not supported");
    EXPECT_EQ(reason("m=video 0 RTP/SAVP 96\r\n"), "RTP/SAVP: encrypted");
    EXPECT_EQ(reason("m=video 0 udp 33\r\n"), "udp: not RTP");
    EXPECT_EQ(reason("m=video 0 RTP/AVP 33\r\n"), "MP2T: not supported");
    EXPECT_EQ(reason("m=video 0 RTP/AVP\r\n"), "no payload type");
    EXPECT_EQ(reason("m=video\r\n"), "a malformed m= line");
}

TEST(ReadSession, SkipsMalformedLines) {
    auto session = read(
        "v=0 \r\nthis is no line\r\nb=AS\r\na=\r\nm=video 0 RTP/AVP 96 \r\nb=AS:x\r\na=rtpmap:96 H264\r\n"
        "a=fmtp:96 sprop-parameter-sets=AAAAAWdNACqVqB4AifluAA==,AAAAAWjuPIA=\r\na=control:track1\r\n");
    ASSERT_EQ(session.tracks.size(), 1u);
    EXPECT_EQ(session.tracks[0].format.clock_rate, 90000u);
    EXPECT_TRUE(session.tracks[0].format.single_nalus);  // packetization-mode is absent
    ASSERT_EQ(session.tracks[0].parameter_sets.size(), 2u);
    EXPECT_EQ(session.tracks[0].parameter_sets[1], hex("68ee3c80"));  // without its start code
    EXPECT_EQ(session.warnings, std::vector<std::string>{"rtpmap has no clock rate"});
    EXPECT_FALSE(read_session_text("", kBase));
    EXPECT_FALSE(read_session_text("no description\r\n", kBase));
    EXPECT_TRUE(read("v=0\r\n").tracks.empty());
}

TEST(ReadSession, IsBounded) {
    std::string many = "v=0\r\n";
    for (int i = 0; i < 40; ++i)
        many +=
            "m=audio 0 RTP/AVP 0\r\na=control:a\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 VP8/90000\r\na=control:b\r\n";
    auto refused = read_session_text(many, kBase);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kLimit);
    auto session = read(std::string_view(many).substr(0, many.size() / 2));
    EXPECT_EQ(session.tracks.size(), 2u * media::kMaxTracks);
    EXPECT_EQ(session.skipped.size(), kMaxSessionTracks);
    // Many payload types and many attributes: not each is searched for in all of them.
    std::string types = "v=0\r\nm=video 0 RTP/AVP";
    for (int i = 0; i < 250; ++i) types += " 111";
    types += "\r\n";
    for (int i = 0; i < 8000; ++i) types += "a=x\n";
    EXPECT_EQ(read(types).skipped.size(), 1u);
    EXPECT_EQ(read_session_text(std::string(65 * 1024, 'a'), kBase).error().code(), base::Code::kLimit);
}

}  // namespace
}  // namespace sdp
