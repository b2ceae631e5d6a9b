// The service with streams published by the test, and a destination run by the test.

#include "service/forward/service.h"

#include <nlohmann/json.hpp>

#include "base/hex_testing.h"
#include "media/h264.h"
#include "protocol/rtmp/server_session.h"
#include "runtime/socket/udp.h"
#include "service/forward/config.h"
#include "service/relay/testing.h"

namespace service::forward {
namespace {

using live::testing::video;
using relay::testing::FakeServer;
using runtime::testing::ok;

const live::StreamKey kKey{std::string(config::kDefaultVhost), "live", "s"};

class ForwardTest : public relay::testing::RelayTest {
  protected:
    ForwardTest() { snapshot_->global.server_id = "srv"; }
    void TearDown() override {
        publication_.end();
        service_.reset();
        expect_nothing_left();
    }
    void start(std::vector<std::string> destinations, const std::string& backend = "") {
        vhost().get<VhostConfig>() = {true, std::move(destinations), backend};
        registry_.start();
        auto post = [this](const std::string& url, const std::string& body,
                           runtime::Deadline) -> base::Result<std::string> {
            asked_ += url + ";";
            body_ = body;
            TRY(runtime::sleep_ms(5));
            if (answer_.empty()) return base::fail(base::Code::kClosed, "connection refused");
            return answer_;
        };
        service_ = std::make_unique<Service>(snapshot_, sessions_, registry_, post, "run", links_);
        ASSERT_TRUE(ok(service_->start()));
    }
    void reload(std::vector<std::string> destinations, bool enabled = true) {
        auto next = std::make_shared<config::Snapshot>(*snapshot_);
        next->vhosts.front().get<VhostConfig>() = {enabled, std::move(destinations), ""};
        service_->reload(next);
    }
    void publish(const live::StreamKey& key = kKey) { RelayTest::publish(key); }
    bool came(FakeServer& server, std::string_view what) {
        bool has = until([&] { return server.media.find(what) != std::string::npos; });
        EXPECT_TRUE(has) << server.media;
        return has;
    }
    const Push& push(size_t index = 0) { return service_->pushes()[index]; }

    std::unique_ptr<Service> service_;
    std::string asked_, body_, answer_;
    std::vector<PushOffer> links_;
};

constexpr std::string_view kStart = "9@0:6;8@0:3;9@0:6;8@10:3;";

TEST_F(ForwardTest, AStreamGoesThereFromItsBeginningToItsEnd) {
    FakeServer there;
    start({there.address()});
    publish();
    came(there, kStart);
    publication_.publish(video(40));
    came(there, "9@40:6;");
    EXPECT_EQ(there.path, registry_.instance());
    ASSERT_EQ(sessions_.size(), 1u);
    sessions_.for_each([&](net::Session& s) {
        EXPECT_EQ(net::session_type_name(s.type()), "rtmp-forward");
        EXPECT_EQ(s.stream_text(), kKey.text());
        EXPECT_EQ(s.ip(), "127.0.0.1");
        EXPECT_GT(s.traffic().sent_bytes, 50u);
    });
    EXPECT_EQ(push().state(), Push::State::kPublishing);
    publication_.publish(video(80));
    publication_.end();
    until([&] { return service_->idle(); });
    EXPECT_EQ(there.media, std::string(kStart) + "9@40:6;9@80:6;");
    EXPECT_EQ(there.log, "publish live/s?k=v;close;end;");
    EXPECT_EQ(sessions_.size(), 0u);
    // Forwarded again when it is published again.
    publish();
    until([&] { return there.publishes == 2; });
}

TEST_F(ForwardTest, EachDestinationGetsIt) {
    FakeServer a, b;
    start({a.address(), "rtmp://" + b.address() + "/in/[vhost]-[stream]", a.address()});
    publish({"a.com", "x", "s"});
    EXPECT_TRUE(service_->pushes().empty()) << "no such vhost";
    publication_.end();
    publish();
    came(a, kStart);
    came(b, kStart);
    EXPECT_EQ(a.log, "publish live/s?k=v;");
    EXPECT_EQ(b.log, "publish in/__defaultVhost__-s;");
    EXPECT_EQ(service_->pushes().size(), 2u) << "a destination that is named twice counts once";
    EXPECT_EQ(stream_->viewer_count(), 2u);
}

TEST_F(ForwardTest, ADestinationThatIsDownIsTriedAgain) {
    auto first = std::make_unique<FakeServer>();
    uint16_t port = first->port();
    std::string address = first->address();
    first.reset();
    start({address});
    publish();
    until([&] { return push().state() == Push::State::kWaiting; });
    EXPECT_NE(push().problem().find("refused"), std::string::npos) << push().problem();
    until([&] { return push().attempts() >= 2; });
    FakeServer there(port);
    came(there, kStart);
    EXPECT_EQ(push().problem(), "");
    // The connection is lost: it is re-established and begins with the newest keyframe.
    publication_.publish(video(1000, true));
    there.drop_all();
    came(there, "9@1000:6;");
    until([&] { return there.publishes == 2; });
}

TEST_F(ForwardTest, OneThatClosesAtOnceIsAskedLessAndLess) {
    FakeServer there;
    there.close_at_once = true;
    start({there.address()});
    publish();
    until([&] { return push().attempts() >= 2; });
    EXPECT_EQ(push().problem(), "closed by the peer");
    int64_t began = base::monotonic_ms();
    uint64_t attempts = push().attempts();
    until([&] { return push().attempts() > attempts; });
    EXPECT_GE(base::monotonic_ms() - began, 250);
}

TEST_F(ForwardTest, ARefusalIsTriedAgainButNotALoop) {
    FakeServer refusing, loop;
    refusing.refuse = "NetStream.Publish.BadName";
    loop.refuse = ::rtmp::kForwardLoop;
    start({refusing.address(), loop.address()});
    owner_.about.forward_path = "one,two";
    publish();
    until([&] { return refusing.accepted >= 2; });
    EXPECT_EQ(push(0).state() == Push::State::kLoop, false);
    EXPECT_NE(push(0).problem().find("BadName"), std::string::npos) << push(0).problem();
    EXPECT_EQ(push(1).state(), Push::State::kLoop);
    EXPECT_EQ(loop.accepted, 1);
    EXPECT_EQ(loop.path, "one,two," + registry_.instance());
    publication_.end();
    until([&] { return service_->idle(); });
}

TEST_F(ForwardTest, ReloadAddsAndRemoves) {
    FakeServer a, b;
    start({a.address()});
    publish();
    came(a, kStart);
    reload({a.address(), b.address()});
    came(b, kStart);
    EXPECT_EQ(a.publishes, 1) << "unchanged destinations are not disturbed";
    reload({b.address()});
    until([&] { return a.log == "publish live/s?k=v;close;end;"; });
    publication_.publish(video(40));
    came(b, "9@40:6;");
    EXPECT_EQ(a.media, kStart);
    reload({b.address()}, false);
    until([&] { return service_->idle(); });
    EXPECT_EQ(b.log, "publish live/s?k=v;close;end;");
}

TEST_F(ForwardTest, AKickedOneComesBack) {
    FakeServer there;
    start({there.address()});
    publish();
    came(there, kStart);
    sessions_.for_each([](net::Session& s) { s.kick("by hand"); });
    until([&] { return there.publishes == 2; });
    EXPECT_EQ(push().problem(), "by hand");
}

TEST_F(ForwardTest, TheBackendSaysWhere) {
    FakeServer there;
    start({"127.0.0.1:1"}, "http://b/x");
    publish();
    until([&] { return !service_->queries().empty() && service_->queries()[0]->problem() == "connection refused"; });
    EXPECT_TRUE(service_->pushes().empty());
    answer_ = R"({"code":0,"data":{"urls":["rtmp://)" + there.address() + R"(/far/away?x=1","nonsense://"]}})";
    came(there, kStart);
    EXPECT_EQ(there.log, "publish far/away?x=1;");
    EXPECT_EQ(service_->pushes().size(), 1u);
    auto body = nlohmann::json::parse(body_, nullptr, false);
    EXPECT_EQ(body["action"], "on_forward");
    EXPECT_EQ(body["client_id"], "c1");
    EXPECT_EQ(body["server_id"], "srv");
    EXPECT_EQ(body["param"], "?k=v");
    // A reload without a change causes no query.
    std::string asked = asked_;
    service_->reload(snapshot_);
    (void)runtime::sleep_ms(50).has_value();
    EXPECT_EQ(asked_, asked);
    publication_.end();
    until([&] { return service_->idle() && service_->queries().empty(); });
    // Each publishing causes a new query.
    publish();
    until([&] { return there.publishes == 2; });
    EXPECT_EQ(asked_, asked + "http://b/x;");
}

TEST_F(ForwardTest, AStreamThatEndsMeanwhileIsForgotten) {
    FakeServer silent;
    silent.silent = true;
    start({silent.address()}, "");
    publish();
    until([&] { return silent.accepted == 1; });
    int64_t began = base::monotonic_ms();
    publication_.end();
    until([&] { return service_->idle(); });
    EXPECT_LT(base::monotonic_ms() - began, 5000);
}

TEST_F(ForwardTest, OtherProtocolsAreThoseOfOffers) {
    std::vector<std::string> asked;
    links_.push_back({.schemes = {"rtsp"}, .make = [&](PushRequest request) -> base::Result<std::unique_ptr<PushLink>> {
                          asked.push_back(request.url + " " + request.path + " " + request.stream->key().text());
                          return base::fail(base::Code::kOther, "not today");
                      }});
    owner_.about.forward_path = "one";
    start({"rtsp://u:p@h:8554/[app]/x", "rtsps://h"});
    publish();
    until([&] { return asked.size() >= 2 && push(1).state() == Push::State::kWaiting; });
    EXPECT_EQ(asked[0], "rtsp://u:p@h:8554/live/x one," + registry_.instance() + " " + kKey.text());
    EXPECT_EQ(push(0).problem(), "not today");
    EXPECT_EQ(push(0).target().shown, "rtsp://h:8554/live/...");
    EXPECT_EQ(push(1).problem(), "this server does not publish by rtsps");
    EXPECT_EQ(sessions_.size(), 0u);
}

// What MPEG-TS carries: one NAL unit, with its length.
media::Frame picture(int64_t ms, bool keyframe = false) {
    return video(ms, keyframe, std::string("\0\0\0\x08", 4) + (keyframe ? "\x65" : "\x41") + "picture");
}

// A receiver of datagrams.
struct Receiver {
    Receiver() {
        socket = std::move(runtime::bind_udp({"127.0.0.1", 0}).value());
        address = "127.0.0.1:" + std::to_string(socket->port());
    }
    // What comes within 200 ms.
    std::vector<std::vector<uint8_t>> receive() {
        std::vector<std::vector<uint8_t>> datagrams;
        const auto limit = runtime::Deadline::in_ms(200);
        while (auto batch = socket->receive_batch(limit))
            for (const runtime::UdpPacket& packet : *batch)
                datagrams.emplace_back(packet.bytes.begin(), packet.bytes.end());
        return datagrams;
    }
    std::unique_ptr<runtime::UdpSocket> socket;
    std::string address;
};

TEST_F(ForwardTest, AStreamGoesAsTransportPacketsByUdp) {
    Receiver plain, rtp;
    start({"udp://" + plain.address, "rtp://" + rtp.address});
    publish();
    const auto config = media::make_avc_config(base::hex("6742c01ed900a047fec8"), base::hex("68cb83cb20"));
    publication_.publish(live::testing::header(media::Kind::kVideo, std::string(config->text())));
    publication_.publish(picture(20, true));
    const auto datagrams = plain.receive();
    ASSERT_FALSE(datagrams.empty());
    for (const auto& datagram : datagrams) {
        EXPECT_LE(datagram.size(), 1316u);
        EXPECT_EQ(datagram.size() % 188, 0u);
        EXPECT_EQ(datagram[0], 0x47);
    }
    EXPECT_EQ(datagrams[0][1] & 0x1f, 0) << "the tables are first";
    const auto packets = rtp.receive();
    ASSERT_EQ(packets.size(), datagrams.size());
    for (size_t i = 0; i < packets.size(); ++i) {
        EXPECT_EQ(packets[i][1] & 0x7f, 33);
        EXPECT_TRUE(std::equal(packets[i].begin() + 12, packets[i].end(), datagrams[i].begin(), datagrams[i].end()));
    }
    size_t sessions = 0;
    sessions_.for_each([&](net::Session& s) {
        ++sessions;
        EXPECT_EQ(net::session_type_name(s.type()), "udp-forward");
        EXPECT_GT(s.traffic().sent_bytes, 180u);
    });
    EXPECT_EQ(sessions, 2u);
    publication_.publish(picture(40));
    publication_.end();
    until([&] { return service_->idle(); });
    EXPECT_FALSE(plain.receive().empty()) << "what was published before the end is still sent";
}

// Two streams at one address would be one that nobody can read.
TEST_F(ForwardTest, AnAddressOfUdpHasOneStream) {
    Receiver there;
    start({"udp://" + there.address, "udp://" + there.address + "?ttl=2"});
    publish();
    until([&] { return push(1).state() == Push::State::kWaiting; });
    EXPECT_EQ(push(0).state(), Push::State::kPublishing);
    EXPECT_EQ(push(1).problem(), "another stream is sent to " + there.address);
    publication_.end();
    until([&] { return service_->idle(); });
    reload({"udp://" + there.address + "?ttl=2"});
    publish();
    until([&] { return push().state() == Push::State::kPublishing; });
}

TEST_F(ForwardTest, AnInterfaceThatIsNotThere) {
    start({"udp://239.255.7.7:5000?interface=nowhere0"});
    publish();
    until([&] { return push().state() == Push::State::kWaiting; });
    EXPECT_NE(push().problem().find("interface nowhere0"), std::string::npos) << push().problem();
}

TEST_F(ForwardTest, StopEndsEverything) {
    FakeServer there, silent;
    silent.silent = true;
    start({there.address(), silent.address(), "127.0.0.1:1"});
    publish();
    came(there, kStart);
    service_->stop();
    EXPECT_TRUE(service_->idle());
    until([&] { return there.log == "publish live/s?k=v;close;end;"; });
}

TEST_F(ForwardTest, StopWhileTheBackendIsAsked) {
    start({}, "http://b/x");
    publish();
    until([&] { return !asked_.empty(); });
    service_->stop();
    EXPECT_TRUE(service_->queries().empty());
}

}  // namespace
}  // namespace service::forward
