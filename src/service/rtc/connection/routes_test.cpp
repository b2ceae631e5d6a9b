// Which session an address belongs to when several sessions receive requests from it.

#include "service/rtc/connection/routes.h"

#include <gtest/gtest.h>

#include "protocol/stun/writer.h"
#include "runtime/loop/testing.h"
#include "service/rtc/connection/session.h"

namespace service::rtc {
namespace {

class Nowhere final : public Wire {
  public:
    uint8_t* reserve(size_t) override { return nullptr; }
    void commit(size_t, const base::Endpoint&, uint32_t, uint16_t) override {}
    bool congested() const override { return false; }
};

class RoutesTest : public runtime::testing::RuntimeTest, public SessionHost {
  protected:
    RtcSession& make() {
        SessionSetup setup;
        setup.id = std::to_string(sessions_.size());
        setup.ip = "192.0.2.1";
        setup.key = {"v", "live", "s"};
        std::array<uint8_t, ice::Credentials::kRandomBytes> random{};
        random.fill(static_cast<uint8_t>(sessions_.size() + 1));
        setup.credentials = ice::Credentials::make(random);
        setup.encrypt = false;
        return *sessions_.emplace_back(std::make_unique<RtcSession>(*this, table_, std::move(setup), now_ms_));
    }
    // A request with valid integrity, whoever sent it.
    void ask(RtcSession& session, const base::Endpoint& from) {
        uint8_t room[256];
        stun::Writer writer(room, stun::Class::kRequest, {1});
        writer.username(session.agent().local().ufrag + ":peer");
        writer.controlling(5);
        const size_t size = writer.finish(session.agent().local().password);
        session.on_stun({room, size}, from, wire_, now_ms_);
        ASSERT_TRUE(session.agent().verified(from));
    }
    RtcSession* first(const base::Endpoint& from) {
        Routes::Claims* claims = routes_.find(from, wire_);
        return claims ? claims->first() : nullptr;
    }

    void add_route(const base::Endpoint& from, const Wire& wire, RtcSession& session, int64_t since_ms,
                   int64_t now_ms) override {
        routes_.claim(from, wire, session, since_ms, now_ms);
    }
    void remove_route(const base::Endpoint& from, const Wire& wire, const RtcSession& session) override {
        routes_.remove(from, wire, session);
    }
    void remove_ufrag(std::string_view) override {}
    void session_connected(RtcSession&) override {}
    base::Result<net::Admission::Ticket> admit(const base::IpAddress& ip) override {
        return net::Admission::Ticket(table_.admission(), ip);
    }
    void end_soon(RtcSession&) override {}
    void set_due(RtcSession&, int64_t) override {}
    void copy_out(std::span<const uint8_t>) override {}

    net::SessionTable table_;
    Nowhere wire_;
    Routes routes_;
    int64_t now_ms_ = 1'000'000;
    std::vector<std::unique_ptr<RtcSession>> sessions_;
    const base::Endpoint home_{*base::IpAddress::parse("192.0.2.1"), 5000};
    const base::Endpoint other_{*base::IpAddress::parse("192.0.2.1"), 5001};
};

TEST_F(RoutesTest, OneThatIsHeardOfKeepsItsAddress) {
    RtcSession &victim = make(), &thief = make();
    ask(victim, home_);
    EXPECT_EQ(first(home_), &victim);
    EXPECT_EQ(first(other_), nullptr);
    for (int i = 0; i < 100; ++i) {
        now_ms_ += 10;
        ask(thief, home_);
        ASSERT_EQ(first(home_), &victim);
    }
    EXPECT_EQ(routes_.find(home_, wire_)->size(), 2u) << "both claims are tried for a datagram";
}

TEST_F(RoutesTest, TheNextRequestBringsALostAddressBack) {
    RtcSession &victim = make(), &thief = make();
    ask(victim, home_);
    now_ms_ += ice::kSilentMs + 1;
    ask(thief, home_);
    EXPECT_EQ(first(home_), &thief);
    now_ms_ += 10;
    ask(thief, home_);
    ask(victim, home_);
    EXPECT_EQ(first(home_), &victim);
    ask(thief, home_);
    EXPECT_EQ(first(home_), &victim);
}

TEST_F(RoutesTest, ACrowdOfClaimsKeepsNobodyOutWhoWasThereBefore) {
    RtcSession& victim = make();
    ask(victim, home_);
    now_ms_ += 1;
    for (int i = 0; i < 20; ++i) ask(make(), home_);
    EXPECT_EQ(routes_.find(home_, wire_)->size(), Routes::kMaxClaims);
    EXPECT_EQ(first(home_), &victim);
    // After a long silence it is last; as soon as it receives something it is first.
    now_ms_ += ice::kSilentMs + 1;
    for (int i = 0; i < 20; ++i) ask(*sessions_[static_cast<size_t>(i) + 1], home_);
    EXPECT_NE(first(home_), &victim);
    ask(victim, home_);
    EXPECT_EQ(first(home_), &victim);
}

TEST_F(RoutesTest, OneThatWasThereBeforeComesBackThoughAllPlacesAreTaken) {
    RtcSession& victim = make();
    ask(victim, home_);
    routes_.remove(home_, wire_, victim);  // as when the client moves away and returns
    now_ms_ += 1;
    for (size_t i = 0; i < Routes::kMaxClaims; ++i) ask(make(), home_);
    ask(victim, home_);
    EXPECT_EQ(first(home_), &victim);
    EXPECT_EQ(routes_.find(home_, wire_)->size(), Routes::kMaxClaims);
    ask(make(), home_);
    for (size_t i = 0; i < Routes::kMaxClaims; ++i)
        EXPECT_NE(routes_.find(home_, wire_)->at(i), sessions_.back().get()) << "the latest claim is ignored";
}

TEST_F(RoutesTest, TheEndOfOneLeavesTheOthers) {
    RtcSession &one = make(), &two = make(), &three = make();
    ask(one, home_);
    ask(two, home_);
    ask(three, home_);
    ask(one, other_);
    sessions_[0].reset();
    EXPECT_EQ(first(home_), &two);
    EXPECT_EQ(first(other_), nullptr);
    routes_.find(home_, wire_)->put_first(1);
    EXPECT_EQ(first(home_), &three);
    EXPECT_EQ(routes_.find(home_, wire_)->at(1), &two);
    sessions_[2].reset();
    sessions_[1].reset();
    EXPECT_EQ(routes_.addresses(), 0u);
}

TEST_F(RoutesTest, SessionsAreFoundByTheirHost) {
    auto of = [&](std::string_view ip) {
        std::multiset<RtcSession*> found;
        routes_.for_each_of(*base::IpAddress::parse(ip), [&](RtcSession& one) { return found.insert(&one), false; });
        return found;
    };
    using Sessions = std::multiset<RtcSession*>;
    RtcSession &one = make(), &two = make();
    ask(one, home_);
    ask(one, home_);
    ask(one, other_);
    ask(two, home_);
    ask(two, {*base::IpAddress::parse("192.0.2.2"), 5000});
    EXPECT_EQ(of("192.0.2.1"), (Sessions{&one, &one, &two}));
    EXPECT_EQ(of("192.0.2.2"), Sessions{&two});
    int count = 0;
    routes_.for_each_of(home_.ip, [&](RtcSession&) { return ++count == 2; });
    EXPECT_EQ(count, 2);
    sessions_[0].reset();
    EXPECT_EQ(of("192.0.2.1"), Sessions{&two});
    // A claim that another one replaces is not found either.
    for (size_t i = 0; i < 20; ++i) ask(make(), home_);
    EXPECT_EQ(of("192.0.2.1").size(), Routes::kMaxClaims);
    sessions_.clear();
    EXPECT_TRUE(of("192.0.2.1").empty());
    EXPECT_TRUE(of("192.0.2.2").empty());
}

TEST_F(RoutesTest, Fragments) {
    RtcSession &one = make(), &two = make();
    EXPECT_TRUE(routes_.add("abcd", one));
    EXPECT_FALSE(routes_.add("abcd", two));
    EXPECT_EQ(routes_.find("abcd"), &one);
    EXPECT_EQ(routes_.find("abc"), nullptr);
    routes_.remove("abcd");
    EXPECT_EQ(routes_.fragments(), 0u);
}

}  // namespace
}  // namespace service::rtc
