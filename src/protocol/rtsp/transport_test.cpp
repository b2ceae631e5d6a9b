#include "protocol/rtsp/transport.h"

#include <gtest/gtest.h>

#include "protocol/rtsp/headers.h"
#include "protocol/rtsp/server_session.h"

namespace rtsp {
namespace {

// What is written of each alternative, separated by spaces; or the error.
std::string parsed(std::string_view text) {
    auto list = parse_transports(text);
    if (!list) return list.error().text();
    std::string out;
    for (const Transport& one : *list) out += (out.empty() ? "" : " ") + write(one);
    return out;
}

TEST(RtspTransport, ParsesAlternatives) {
    const std::pair<const char*, const char*> cases[] = {
        {"RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP/TCP;unicast;interleaved=0-1"},
        {"RTP/AVP;unicast;client_port=5000-5001", "RTP/AVP;unicast;client_port=5000-5001"},
        {"rtp/avp/udp ; UNICAST ; client_port = 5000", "RTP/AVP;unicast;client_port=5000-5001"},
        {"RTP/AVP/TCP;interleaved=254", "RTP/AVP/TCP;unicast;interleaved=254-255"},
        {"RTP/AVP/UDP;unicast;client_port=6-7,RTP/AVP/TCP;unicast;interleaved=2-3;mode=\"PLAY\"",
         "RTP/AVP;unicast;client_port=6-7 RTP/AVP/TCP;unicast;interleaved=2-3"},
        {"RTP/AVP;multicast;destination=224.0.0.1;ttl=5", "RTP/AVP;multicast;destination=224.0.0.1"},
        {"RTP/SAVP;unicast;client_port=6-7", "RTP/SAVP;unicast;client_port=6-7"},
        {"RTP/AVP/TCP;interleaved=0-1;mode=\"RECORD\"", "RTP/AVP/TCP;unicast;interleaved=0-1;mode=record"},
        {"RAW/RAW/UDP;unicast,RTP/AVP/TCP", "RTP/AVP/TCP;unicast"},
        {"RTP/AVP;unicast;client_port=6-7;ssrc=0a0B", "RTP/AVP;unicast;client_port=6-7;ssrc=00000A0B"},
        {"MP2T/H2221/UDP;unicast", ""},
        {"", ""},
        {"RTP/AVP/TCP;interleaved=255-256", "Transport: interleaved=255-256 is invalid"},
        {"RTP/AVP/TCP;interleaved=255", "Transport: interleaved=255 is invalid"},
        {"RTP/AVP/TCP;interleaved=0-0", "Transport: interleaved=0-0 is invalid"},
        {"RTP/AVP/TCP;interleaved=", "Transport: interleaved= is invalid"},
        {"RTP/AVP;client_port=0-1", "Transport: client_port=0-1 is invalid"},
        {"RTP/AVP;client_port=65535", "Transport: client_port=65535 is invalid"},
        {"RTP/AVP;client_port=1-99999", "Transport: client_port=1-99999 is invalid"},
    };
    for (const auto& [text, expected] : cases) EXPECT_EQ(parsed(text), expected) << text;
}

// Cameras answer 0-1, or no numbers at all: their packets are known by the client's port then.
TEST(RtspTransport, AnInvalidServerPortIsNone) {
    for (const char* ports : {"0-1", "0", "x", "", "70000-70001"}) {
        const auto list = parse_transports("RTP/AVP;unicast;client_port=6-7;server_port=" + std::string(ports));
        ASSERT_TRUE(list && list->size() == 1) << ports;
        EXPECT_FALSE(list->front().server_port) << ports;
        EXPECT_EQ(list->front().client_port->rtp, 6) << ports;
    }
}

TEST(RtspTransport, LimitsAlternatives) {
    std::string text = "RTP/AVP";
    for (int i = 0; i < 16; ++i) text += ",RTP/AVP";
    EXPECT_EQ(parsed(text), "Transport: more than 16 alternatives");
}

// Status and reason, or the transport that was chosen.
std::string set_up(ServerSession& session, size_t track, std::string_view list, ServerSession::Offer offer = {}) {
    const auto [outcome, chosen] = session.choose(track, *parse_transports(list), offer);
    if (!outcome) return std::to_string(outcome.status) + " " + std::string(outcome.why);
    session.set_up(track, chosen);
    return write(session.transport(track));
}

TEST(RtspServerSession, ChoosesTheFirstUsableTransport) {
    ServerSession session;
    ASSERT_TRUE(session.set_tracks(ServerSession::Direction::kPlay, 2));
    EXPECT_EQ(set_up(session, 0, "RTP/AVP;multicast,RTP/AVP/TCP;interleaved=4-5,RTP/AVP;client_port=6-7"),
              "RTP/AVP/TCP;unicast;interleaved=4-5");
    EXPECT_EQ(set_up(session, 1, "RTP/AVP;client_port=6-7"),
              "461 all tracks of a session need the same kind of transport");
    EXPECT_EQ(set_up(session, 1, "RTP/AVP/TCP;interleaved=5-6"), "461 another track has these channels");
    EXPECT_EQ(set_up(session, 1, "RTP/AVP/TCP"), "RTP/AVP/TCP;unicast;interleaved=2-3");
    ASSERT_TRUE(session.channel(3));
    EXPECT_EQ(session.channel(3)->track, 1u);
    EXPECT_TRUE(session.channel(3)->rtcp);
    EXPECT_FALSE(session.channel(0));
}

TEST(RtspServerSession, RefusesWhatIsNotOffered) {
    ServerSession session;
    ASSERT_TRUE(session.set_tracks(ServerSession::Direction::kPlay, 1));
    EXPECT_EQ(set_up(session, 0, "RTP/AVP;client_port=6-7", {.tcp = true, .udp = false}),
              "461 UDP is not offered: use TCP (interleaved)");
    EXPECT_EQ(set_up(session, 0, "RTP/AVP"), "461 UDP without client_port");
    EXPECT_EQ(set_up(session, 0, "RTP/SAVP;client_port=6-7"), "461 SRTP is not offered");
    EXPECT_EQ(set_up(session, 0, "RTP/AVP;multicast"), "461 multicast is not offered");
    EXPECT_EQ(set_up(session, 0, "RTP/AVP/TCP;mode=record"), "461 mode=record before ANNOUNCE");
    EXPECT_EQ(set_up(session, 0, "RAW/UDP"), "461 no transport of RTP");
    EXPECT_EQ(set_up(session, 1, "RTP/AVP/TCP"), "404 no such track");
    EXPECT_EQ(set_up(session, 9'999, "RTP/AVP/TCP"), "404 no such track");
    EXPECT_EQ(session.play().status, 455) << "a refused SETUP must not count";
}

TEST(RtspServerSession, States) {
    ServerSession session;
    EXPECT_EQ(session.play().status, 455);
    EXPECT_EQ(session.pause().status, 455);
    ASSERT_TRUE(session.set_tracks(ServerSession::Direction::kPlay, 1));
    EXPECT_EQ(session.record().status, 455);
    EXPECT_EQ(set_up(session, 0, "RTP/AVP/TCP"), "RTP/AVP/TCP;unicast;interleaved=0-1");
    EXPECT_EQ(session.set_tracks(ServerSession::Direction::kRecord, 1).status, 455);
    EXPECT_TRUE(session.play());
    EXPECT_EQ(set_up(session, 0, "RTP/AVP;client_port=6-7"),
              "455 a transport cannot change while the session plays or publishes");
    EXPECT_TRUE(session.play()) << "PLAY while it plays is a keep-alive";
    EXPECT_TRUE(session.pause());
    EXPECT_TRUE(session.play());
}

TEST(RtspServerSession, RecordsAfterAnnounce) {
    ServerSession session;
    ASSERT_TRUE(session.set_tracks(ServerSession::Direction::kRecord, 1));
    EXPECT_EQ(set_up(session, 0, "RTP/AVP/TCP"), "RTP/AVP/TCP;unicast;interleaved=0-1;mode=record");
    EXPECT_EQ(session.play().status, 455);
    EXPECT_TRUE(session.record());
    EXPECT_EQ(session.state(), ServerSession::State::kRecording);
    EXPECT_TRUE(session.pause());
    EXPECT_EQ(set_up(session, 0, "RTP/AVP/TCP"), "455 a transport cannot change while the session plays or publishes");
    EXPECT_TRUE(session.record());
}

TEST(RtspServerSession, ASetupThatFailsLeavesTheTrackAsItWas) {
    ServerSession session;
    ASSERT_TRUE(session.set_tracks(ServerSession::Direction::kPlay, 1));
    EXPECT_EQ(set_up(session, 0, "RTP/AVP;client_port=6-7"), "RTP/AVP;unicast;client_port=6-7;server_port=0-0");
    EXPECT_EQ(set_up(session, 0, "RTP/AVP;multicast"), "461 multicast is not offered");
    EXPECT_EQ(session.chosen(0)->client_ports.rtp, 6);
    EXPECT_TRUE(session.play());
}

// A row for each state that a session can be in, a column for each method.
TEST(RtspServerSession, AllowsWhatTheStateDoes) {
    using enum Method;
    const auto allowed = [](const ServerSession& session) {
        std::string text;
        for (const Method method : {kOptions, kDescribe, kAnnounce, kSetup, kPlay, kRecord, kPause, kTeardown, kOther})
            text += session.allows(method) ? '+' : '-';
        return text;
    };
    ServerSession player, publisher;
    EXPECT_EQ(allowed(player), "++++---++") << "nothing was asked for yet";
    ASSERT_TRUE(publisher.set_tracks(ServerSession::Direction::kRecord, 1));
    EXPECT_EQ(allowed(publisher), "++++---++") << "announced";
    ASSERT_TRUE(player.set_tracks(ServerSession::Direction::kPlay, 1));
    set_up(player, 0, "RTP/AVP/TCP");
    EXPECT_EQ(allowed(player), "++-++-+++") << "set up";
    set_up(publisher, 0, "RTP/AVP/TCP");
    EXPECT_EQ(allowed(publisher), "+--+-++++") << "set up";
    ASSERT_TRUE(player.play());
    EXPECT_EQ(allowed(player), "+---+-+++") << "plays";
    ASSERT_TRUE(publisher.record());
    EXPECT_EQ(allowed(publisher), "+----++++") << "records";
    ASSERT_TRUE(player.pause());
    EXPECT_EQ(allowed(player), "+---+-+++") << "paused";
    ASSERT_TRUE(publisher.pause());
    EXPECT_EQ(allowed(publisher), "+----++++") << "paused";
}

TEST(RtspHeaders, Session) {
    EXPECT_EQ(*parse_session("12Ab;timeout=30"), (SessionField{"12Ab", 30}));
    EXPECT_EQ(*parse_session(" x ; timeout = 5 "), (SessionField{"x", 5}));
    EXPECT_EQ(*parse_session("x;timeout=0"), (SessionField{"x", 60}));
    EXPECT_EQ(*parse_session("x;timeout=abc;y"), (SessionField{"x", 60}));
    EXPECT_FALSE(parse_session(""));
    EXPECT_FALSE(parse_session(";timeout=1"));
    EXPECT_FALSE(parse_session("a b"));
    EXPECT_FALSE(parse_session(std::string(129, 'a')));
    EXPECT_EQ(write(SessionField{"x", 60}), "x;timeout=60");
}

TEST(RtspHeaders, Range) {
    EXPECT_EQ(*parse_range("npt=0.000-"), (Range{.begin_ms = 0}));
    EXPECT_EQ(*parse_range("npt=now-"), (Range{.from_now = true}));
    EXPECT_EQ(*parse_range("npt=-1.5"), (Range{.end_ms = 1500}));
    EXPECT_EQ(*parse_range("npt=1:02:03.25-4000"), (Range{.begin_ms = 3'723'250, .end_ms = 4'000'000}));
    EXPECT_EQ(*parse_range("clock=19961108T143720.25Z-;time=x"), (Range{.unit = Range::Unit::kOther}));
    EXPECT_FALSE(parse_range("npt"));
    EXPECT_FALSE(parse_range("=1-2"));
    EXPECT_FALSE(parse_range("npt=a-"));
    EXPECT_FALSE(parse_range("npt=1:2-"));
    EXPECT_FALSE(parse_range("npt=99999999999-"));
}

TEST(RtspHeaders, RtpInfo) {
    const std::vector<RtpInfo> tracks = {{"rtsp://h/s,1/trackID=0", 7, 90'000}, {"rtsp://h/s,1/trackID=1", {}, {}}};
    const std::string text = write(tracks);
    EXPECT_EQ(text, "url=rtsp://h/s,1/trackID=0;seq=7;rtptime=90000,url=rtsp://h/s,1/trackID=1");
    EXPECT_EQ(parse_rtp_info(text), tracks);
    EXPECT_EQ(parse_rtp_info("url=a;seq=70000, url=b").size(), 2u);
    EXPECT_TRUE(parse_rtp_info("seq=1").empty());
}

}  // namespace
}  // namespace rtsp
