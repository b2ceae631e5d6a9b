#include "protocol/sdp/description.h"

#include <gtest/gtest.h>

#include "protocol/sdp/candidate.h"
#include "protocol/sdp/fragment.h"

namespace sdp {
namespace {

constexpr std::string_view kSmall =
    "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\na=ice-lite\r\n"
    "m=audio 9 UDP/TLS/RTP/SAVPF 111 0\r\nc=IN IP4 0.0.0.0\r\nb=AS:64\r\na=mid:0\r\na=rtcp-mux\r\n";

TEST(Description, ReadsAndWritesTheSame) {
    auto session = SessionDescription::parse(kSmall);
    ASSERT_TRUE(session) << session.error().text();
    EXPECT_EQ(session->write(), kSmall);
    ASSERT_EQ(session->media.size(), 1u);
    EXPECT_EQ(session->media[0].kind, "audio");
    EXPECT_EQ(session->media[0].formats, (std::vector<std::string>{"111", "0"}));
    ASSERT_TRUE(session->media[0].find("mid"));
    EXPECT_EQ(*session->media[0].find("mid"), "0");
    EXPECT_FALSE(session->media[0].has("sendrecv"));
    EXPECT_EQ(session->media[0].bandwidths[0].second, 64u);
}

TEST(Description, TakesWhatClientsDo) {
    // LF alone, empty lines, unknown letters, no o=, s=, t=, two spaces, a port count.
    auto session = SessionDescription::parse("v=0\n\ni=about\na=tool:x\nz=0 0\nm=video  5/2 RTP/SAVPF 96\na=mid:v\n");
    ASSERT_TRUE(session) << session.error().text();
    EXPECT_EQ(session->media[0].port, 5);
    EXPECT_EQ(session->media[0].protocol, "RTP/SAVPF");
}

TEST(Description, RefusesWhatIsNone) {
    auto said = [](std::string_view text) {
        auto session = SessionDescription::parse(text);
        return session ? "fine" : session.error().text();
    };
    EXPECT_EQ(said(""), "an empty description");
    EXPECT_EQ(said("\r\n\r\n"), "an empty description");
    EXPECT_EQ(said("{\"sdp\": 1}"), "line 1 is no line of SDP");
    EXPECT_EQ(said("s=-\r\nv=0\r\n"), "it does not begin with v=0");
    EXPECT_EQ(said("v=0\r\nm=audio\r\n"), "line 2: 'm=audio' is no KIND PORT PROTOCOL FORMATS");
    EXPECT_EQ(said("v=0\r\nm=audio 70000 RTP/SAVPF 0\r\n"),
              "line 2: 'm=audio 70000 RTP/SAVPF 0' is no KIND PORT PROTOCOL FORMATS");
    EXPECT_EQ(said("v=0\r\nb=AS\r\n"), "line 2: 'b=AS' is no TYPE:NUMBER");
    EXPECT_EQ(said("v=0\r\na=\r\n"), "line 2 is an attribute without a name");
    EXPECT_EQ(said(std::string_view("v=0\r\na=x\0y\r\n", 12)), "line 2 has a control character");
    EXPECT_EQ(said("v=0\r\nx\r\n"), "line 2 is no line of SDP");
}

TEST(Description, IsBounded) {
    std::string many = "v=0\r\n";
    for (int i = 0; i < 65; ++i) many += "m=audio 9 RTP/SAVPF 0\r\n";
    auto session = SessionDescription::parse(many);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code(), base::Code::kLimit);
    EXPECT_EQ(session.error().text(), "more than 64 m= lines");
    std::string large = "v=0\r\n";
    for (int i = 0; i < 50'000; ++i) large += "a=ssrc:1 cname:x\r\n";
    session = SessionDescription::parse(large);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code(), base::Code::kLimit);
    std::string attributes = "v=0\n";
    for (int i = 0; i < 9000; ++i) attributes += "a=x\n";
    session = SessionDescription::parse(attributes);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code(), base::Code::kLimit);
}

TEST(Candidate, ReadsAndWrites) {
    const std::string text = "842163049 1 udp 1677729535 203.0.113.7 46154 typ srflx";
    auto c = Candidate::parse(text + " raddr 0.0.0.0 rport 0 generation 0 ufrag x network-cost 999");
    ASSERT_TRUE(c) << c.error().text();
    EXPECT_EQ(c->write(), text);
    c = Candidate::parse("1 1 TCP 1518214911 2001:db8::1 9 typ host tcptype active");
    ASSERT_TRUE(c) << c.error().text();
    EXPECT_TRUE(c->tcp);
    EXPECT_EQ(c->write(), "1 1 tcp 1518214911 2001:db8::1 9 typ host tcptype active");
    for (const char* bad :
         {"", "1", "1 1 udp", "1 1 udp 1 1.2.3.4 9", "1 1 udp 1 1.2.3.4 9 typ", "1 0 udp 1 a 9 typ host",
          "1 1 udp x a 9 typ host", "1 1 udp 1 a 70000 typ host", "1 1 sctp 1 a 9 typ host"})
        EXPECT_FALSE(Candidate::parse(bad)) << bad;
}

TEST(Candidate, UdpComesBeforeTcpAndTheFirstBeforeTheNext) {
    EXPECT_EQ(host_candidate("192.0.2.1", 8000, false, 0).write(), "1 1 udp 2130706431 192.0.2.1 8000 typ host");
    Candidate tcp = host_candidate("192.0.2.1", 8000, true, 0);
    EXPECT_EQ(tcp.tcp_type, "passive");
    EXPECT_GT(host_candidate("a", 1, false, 0).priority, host_candidate("a", 1, false, 1).priority);
    EXPECT_GT(host_candidate("a", 1, false, 60'000).priority, tcp.priority);
    EXPECT_GT(tcp.priority, host_candidate("a", 1, true, 1).priority);
}

TEST(Fragment, ReadsTheExampleOfWhip) {
    auto fragment = Fragment::parse(
        "a=group:BUNDLE 0 1\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=ice-ufrag:EsAw\r\n"
        "a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\na=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host "
        "generation 0 ufrag EsAw network-id 1\r\na=candidate:1 1 udp 1 x.local 4 typ host\r\na=end-of-candidates\r\n");
    ASSERT_TRUE(fragment) << fragment.error().text();
    EXPECT_EQ(fragment->ice.ufrag, "EsAw");
    EXPECT_EQ(fragment->ice.pwd, "P2uYro0UCOQ4zxjKXaWCBui1");
    ASSERT_EQ(fragment->candidates.size(), 2u);
    EXPECT_EQ(fragment->candidates[0].port, 61764);
    EXPECT_TRUE(fragment->end_of_candidates);
    EXPECT_EQ(fragment->mid, "0");
    EXPECT_EQ(fragment->media_line, "audio 9 UDP/TLS/RTP/SAVPF 111");
    auto again = Fragment::parse(fragment->write());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->write(), fragment->write());
}

TEST(Fragment, RefusesWhatTellsNothing) {
    EXPECT_FALSE(Fragment::parse(""));
    EXPECT_FALSE(Fragment::parse("hello"));
    EXPECT_FALSE(Fragment::parse("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n"));
    EXPECT_FALSE(Fragment::parse("a=ice-ufrag:EsAw\r\n"));
    EXPECT_FALSE(Fragment::parse("a=ice-ufrag:E\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\n"));
    EXPECT_EQ(Fragment::parse(std::string(70'000, 'a')).error().code(), base::Code::kLimit);
}

}  // namespace
}  // namespace sdp
