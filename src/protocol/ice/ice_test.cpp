#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

#include "protocol/ice/lite_agent.h"
#include "protocol/ice/testing/client.h"
#include "protocol/stun/writer.h"

namespace ice {
namespace {

const Credentials kServer{"servUfra", "serverPasswordOf24Chars."};
const Credentials kPeer{"peerUfra", "peersPasswordOf24Charact"};

base::Endpoint at(std::string_view ip, uint16_t port) { return {base::IpAddress::parse(ip).value(), port}; }
const base::Endpoint kHome = at("192.0.2.1", 1000);
const base::Endpoint kMobile = at("2001:db8::7", 2000);
const base::Endpoint kHere = at("198.51.100.1", 8000);

struct RequestOptions {
    std::string username = kServer.ufrag + ":" + kPeer.ufrag;
    std::string password = kServer.password;
    bool use_candidate = false;
    bool controlled = false;
    uint32_t priority = 100;
    int unknown = 0;
    stun::Class kind = stun::Class::kRequest;
    bool integrity = true;
};

std::vector<uint8_t> request(const RequestOptions& options) {
    std::vector<uint8_t> out(700);
    stun::Writer writer(out, options.kind, stun::TransactionId{1, 2, 3, 4});
    if (!options.username.empty()) writer.username(options.username);
    if (options.controlled) {
        writer.controlled(5);
    } else {
        writer.controlling(5);
    }
    writer.priority(options.priority);
    if (options.use_candidate) writer.use_candidate();
    for (int i = 0; i < options.unknown; ++i) writer.attribute(static_cast<stun::Attribute>(0x7000 + i), {});
    out.resize(writer.finish(options.integrity ? options.password : ""));
    return out;
}

struct Answered {
    Reply reply;
    std::vector<uint8_t> bytes;
    uint16_t error = 0;
};

Answered ask(LiteAgent& agent, const RequestOptions& options, const base::Endpoint& from, int64_t now_ms) {
    Answered answered;
    answered.bytes.resize(kMaxReplySize);
    const auto datagram = request(options);
    answered.reply = agent.on_request(datagram, from, now_ms, answered.bytes);
    answered.bytes.resize(answered.reply.size);
    if (!answered.bytes.empty()) {
        auto message = stun::parse(answered.bytes);
        EXPECT_TRUE(message);
        if (message) answered.error = message->error_code;
    }
    return answered;
}

TEST(LiteAgent, AnswersARightRequest) {
    LiteAgent agent(kServer);
    agent.set_remote(kPeer.ufrag, kPeer.password);
    EXPECT_FALSE(agent.verified(kMobile));
    for (const auto& from : {kHome, kMobile}) {
        auto answered = ask(agent, {}, from, 50);
        EXPECT_EQ(answered.reply.refusal, Refusal::kNone);
        EXPECT_TRUE(answered.reply.verified());
        EXPECT_TRUE(answered.reply.new_address);
        EXPECT_FALSE(answered.reply.selected_changed);
        auto message = stun::parse(answered.bytes);
        ASSERT_TRUE(message);
        EXPECT_EQ(message->kind, stun::Class::kSuccess);
        EXPECT_EQ(message->mapped, from);
        EXPECT_TRUE(message->check_integrity(kServer.password));
        EXPECT_TRUE(message->has_fingerprint);
        EXPECT_TRUE(agent.verified(from));
        EXPECT_FALSE(ask(agent, {}, from, 60).reply.new_address);
    }
    EXPECT_EQ(agent.selected(), nullptr);
}

TEST(LiteAgent, RefusesAndNeverSendsMoreThanCame) {
    LiteAgent agent(kServer);
    agent.set_remote(kPeer.ufrag, kPeer.password);
    struct {
        const char* what;
        RequestOptions options;
        Refusal refusal;
        uint16_t error;
    } const kCases[] = {
        {"no user", {.username = ""}, Refusal::kNoCredentials, 400},
        {"no integrity", {.integrity = false}, Refusal::kNoCredentials, 400},
        {"another user", {.username = "somebody:" + kPeer.ufrag}, Refusal::kWrongUsername, 401},
        {"a longer user", {.username = kServer.ufrag + "x:" + kPeer.ufrag}, Refusal::kWrongUsername, 401},
        {"another peer", {.username = kServer.ufrag + ":somebody"}, Refusal::kWrongUsername, 401},
        {"no peer", {.username = kServer.ufrag}, Refusal::kWrongUsername, 401},
        {"wrong integrity", {.password = "serverPasswordOf24Chars,"}, Refusal::kWrongIntegrity, 401},
        {"an indication", {.kind = stun::Class::kIndication}, Refusal::kNotRequest, 0},
        {"a response", {.kind = stun::Class::kSuccess}, Refusal::kNotRequest, 0},
    };
    for (auto& [what, options, refusal, error] : kCases) {
        auto answered = ask(agent, options, kHome, 1);
        EXPECT_EQ(answered.reply.refusal, refusal) << what;
        EXPECT_EQ(answered.error, error) << what;
        EXPECT_LE(answered.bytes.size(), request(options).size()) << what;
        EXPECT_FALSE(agent.verified(kHome)) << what;
        EXPECT_FALSE(answered.reply.verified()) << what;
    }
    // The smallest request there is: 20 bytes, fewer than any answer.
    std::vector<uint8_t> smallest(20), out(kMaxReplySize);
    stun::Writer writer(smallest, stun::Class::kRequest, {});
    ASSERT_EQ(writer.finish("", false), 20u);
    EXPECT_EQ(agent.on_request(smallest, kHome, 1, out).size, 0u);
}

TEST(LiteAgent, AnswersOnlySomeOfAFlood) {
    LiteAgent agent(kServer);
    size_t answered = 0;
    for (int i = 0; i < 1000; ++i) answered += ask(agent, {.password = "wrong"}, kHome, i).bytes.empty() ? 0 : 1;
    EXPECT_EQ(answered, kMaxErrorsPerSecond);
    EXPECT_EQ(ask(agent, {.password = "wrong"}, kHome, 1001).error, 401);
    EXPECT_EQ(ask(agent, {}, kHome, 999).error, 0);  // correct requests are not limited
    EXPECT_TRUE(agent.verified(kHome));
}

TEST(LiteAgent, UnknownAttributesAndRolesAreAnsweredWithIntegrity) {
    LiteAgent agent(kServer);
    auto unknown = ask(agent, {.unknown = 10}, kHome, 1);
    EXPECT_EQ(unknown.error, 420);
    EXPECT_TRUE(stun::parse(unknown.bytes)->check_integrity(kServer.password));
    auto conflict = ask(agent, {.controlled = true}, kHome, 1);
    EXPECT_EQ(conflict.error, 487);
    EXPECT_TRUE(stun::parse(conflict.bytes)->check_integrity(kServer.password));
    EXPECT_FALSE(agent.verified(kHome));  // the peer repeats the check in the other role
}

TEST(LiteAgent, RegularNomination) {
    LiteAgent agent(kServer);
    ask(agent, {.priority = 100}, kHome, 0);
    ask(agent, {.priority = 200}, kMobile, 10);
    EXPECT_EQ(agent.selected(), nullptr);
    auto nominated = ask(agent, {.use_candidate = true, .priority = 100}, kHome, 50);
    EXPECT_TRUE(nominated.reply.selected_changed);
    ASSERT_TRUE(agent.selected());
    EXPECT_EQ(*agent.selected(), kHome);
    // Further checks of the other pair do not change the selection.
    EXPECT_FALSE(ask(agent, {.priority = 200}, kMobile, 100).reply.selected_changed);
    EXPECT_EQ(*agent.selected(), kHome);
}

TEST(LiteAgent, AggressiveNominationTakesTheHighestPriority) {
    LiteAgent agent(kServer);
    ask(agent, {.use_candidate = true, .priority = 100}, kHome, 0);
    EXPECT_EQ(*agent.selected(), kHome);
    EXPECT_TRUE(ask(agent, {.use_candidate = true, .priority = 200}, kMobile, 20).reply.selected_changed);
    EXPECT_EQ(*agent.selected(), kMobile);
    EXPECT_FALSE(ask(agent, {.use_candidate = true, .priority = 100}, kHome, 40).reply.selected_changed);
    EXPECT_EQ(*agent.selected(), kMobile);
}

// A browser that moves to another network nominates again, possibly a pair of lower priority.
TEST(LiteAgent, ALaterNominationWins) {
    LiteAgent agent(kServer);
    ask(agent, {.use_candidate = true, .priority = 200}, kHome, 0);
    ask(agent, {.priority = 200}, kHome, 2000);
    ask(agent, {.priority = 100}, kMobile, 2100);
    EXPECT_EQ(*agent.selected(), kHome);
    EXPECT_TRUE(ask(agent, {.use_candidate = true, .priority = 100}, kMobile, 2200).reply.selected_changed);
    EXPECT_EQ(*agent.selected(), kMobile);
}

// The peer does not know that its NAT assigned another port: there is no nomination, the old address is silent.
TEST(LiteAgent, FollowsAPeerWhoseAddressChanges) {
    LiteAgent agent(kServer);
    ask(agent, {.use_candidate = true}, kHome, 0);
    EXPECT_FALSE(agent.heard(kHome, 4000));
    auto moved = ask(agent, {}, kMobile, 4000 + kSilentMs + 1);
    EXPECT_TRUE(moved.reply.selected_changed);
    EXPECT_EQ(*agent.selected(), kMobile);
    EXPECT_FALSE(agent.heard(at("192.0.2.99", 1), 90'000));  // unknown address: ignored
    EXPECT_EQ(*agent.selected(), kMobile);
}

// Checks of another known pair have less weight: peers wait longer than kSilentMs between two checks.
TEST(LiteAgent, AnotherPairWaitsLonger) {
    for (bool media : {false, true}) {
        LiteAgent agent(kServer);
        ask(agent, {.use_candidate = true}, kHome, 0);
        ask(agent, {}, kMobile, 0);
        EXPECT_FALSE(agent.heard(kMobile, kSilentMs));
        EXPECT_FALSE(ask(agent, {}, kMobile, kSilentMs + 1).reply.selected_changed);
        EXPECT_EQ(*agent.selected(), kHome);
        if (media) {
            EXPECT_TRUE(agent.heard(kMobile, kSilentMs + 2));
        } else {
            EXPECT_FALSE(ask(agent, {}, kMobile, kNoCheckMs).reply.selected_changed);
            EXPECT_TRUE(ask(agent, {}, kMobile, kNoCheckMs + 1).reply.selected_changed);
        }
        EXPECT_EQ(*agent.selected(), kMobile);
        EXPECT_FALSE(agent.heard(kHome, kNoCheckMs + 2));
    }
}

// The peer's answer to a request of ours. None: it does not answer that.
std::vector<uint8_t> answer_of_peer(std::span<const uint8_t> check, const base::Endpoint& to) {
    Client peer({.local = kPeer, .remote = kServer});
    if (!peer.on_datagram(check, kHere, 0)) return {};
    const auto out = peer.poll(0);
    EXPECT_EQ(out->to, kHere) << to.text();
    return {out->bytes.begin(), out->bytes.end()};
}

TEST(LiteAgent, AnAddressThatAnswersACheckIsThePeers) {
    constexpr stun::TransactionId kId = {9, 8, 7}, kOther = {1};
    LiteAgent agent(kServer);
    agent.set_remote(kPeer.ufrag, kPeer.password);
    ask(agent, {.use_candidate = true}, kHome, 1000);
    std::vector<uint8_t> check(kMaxCheckSize);
    check.resize(agent.write_check(kId, check));
    const auto answer = answer_of_peer(check, kMobile);
    ASSERT_FALSE(answer.empty());
    // Of another request, changed, or the request itself.
    EXPECT_FALSE(agent.on_answer(answer, kOther, kMobile, 1100, 1200));
    auto changed = answer;
    changed[25] ^= 1;
    EXPECT_FALSE(agent.on_answer(changed, kId, kMobile, 1100, 1200));
    EXPECT_FALSE(agent.on_answer(check, kId, kMobile, 1100, 1200));
    EXPECT_FALSE(agent.verified(kMobile));
    // The selected address is heard of later: it stays selected.
    agent.heard(kHome, 1101);
    EXPECT_TRUE(agent.on_answer(answer, kId, kMobile, 1100, 1200));
    EXPECT_TRUE(agent.verified(kMobile));
    EXPECT_EQ(*agent.selected(), kHome);
    EXPECT_TRUE(agent.on_answer(answer, kId, kMobile, 1150, 1200));
    EXPECT_EQ(*agent.selected(), kMobile);
}

TEST(LiteAgent, ChecksOnlyAPeerWhosePasswordItHas) {
    std::array<uint8_t, kMaxCheckSize> room;
    LiteAgent agent(kServer);
    EXPECT_EQ(agent.write_check({1}, room), 0u);
    agent.set_remote(kPeer.ufrag, kPeer.password);
    EXPECT_GT(agent.write_check({1}, room), 0u);
    agent.set_remote(std::string(kMaxUfrag, 'u'), kPeer.password);
    EXPECT_EQ(agent.write_check({1}, room), 0u)
        << "an answer as large as a request may be is not sent to an unverified address";
}

TEST(LiteAgent, RestartKeepsTheOldUntilTheNewWorks) {
    LiteAgent agent(kServer);
    agent.set_remote(kPeer.ufrag, kPeer.password);
    ask(agent, {.use_candidate = true, .priority = 200}, kHome, 0);
    const Credentials again{"again123", "anotherPasswordOf24Chars"};
    agent.restart(again, "newPeer1", kPeer.password);
    EXPECT_EQ(ask(agent, {}, kHome, 10).reply.refusal, Refusal::kNone);
    EXPECT_EQ(agent.local().ufrag, kServer.ufrag);
    // The new name with the old password is refused.
    EXPECT_EQ(ask(agent, {.username = "again123:newPeer1"}, kHome, 10).error, 401);
    EXPECT_EQ(agent.local().ufrag, kServer.ufrag);

    auto first = ask(agent, {.username = "again123:newPeer1", .password = again.password, .priority = 1}, kMobile, 20);
    EXPECT_TRUE(first.reply.restarted);
    EXPECT_TRUE(stun::parse(first.bytes)->check_integrity(again.password));
    EXPECT_EQ(*agent.selected(), kHome);
    EXPECT_EQ(agent.local().ufrag, "again123");
    EXPECT_EQ(ask(agent, {}, kHome, 30).error, 401);
    auto nominated =
        ask(agent, {.username = "again123:newPeer1", .password = again.password, .use_candidate = true, .priority = 1},
            kMobile, 40);
    EXPECT_TRUE(nominated.reply.selected_changed);
    EXPECT_FALSE(nominated.reply.restarted);
    EXPECT_EQ(*agent.selected(), kMobile);
}

TEST(LiteAgent, ForgetsTheSilentestAddressButNotTheSelected) {
    LiteAgent agent(kServer);
    ask(agent, {.use_candidate = true}, kHome, 0);
    for (uint16_t i = 1; i < 100; ++i) ask(agent, {}, at("192.0.2.2", i), i);
    EXPECT_EQ(agent.forgotten(), 100 - LiteAgent::kMaxAddresses);
    EXPECT_TRUE(agent.verified(kHome));
    EXPECT_EQ(*agent.selected(), kHome);
    EXPECT_FALSE(agent.verified(at("192.0.2.2", 1)));
    EXPECT_TRUE(agent.verified(at("192.0.2.2", 99)));
}

TEST(Credentials, OfRandomBytes) {
    std::array<uint8_t, Credentials::kRandomBytes> random{};
    for (size_t i = 0; i < random.size(); ++i) random[i] = static_cast<uint8_t>(i * 9);
    auto made = Credentials::make(random);
    EXPECT_EQ(made.ufrag.size(), 8u);
    EXPECT_EQ(made.password.size(), 24u);
    EXPECT_TRUE(made.valid());
    EXPECT_FALSE((Credentials{"abc", made.password}).valid());
    EXPECT_FALSE((Credentials{"abc:", made.password}).valid());
    EXPECT_FALSE((Credentials{"abcd", "short"}).valid());
    EXPECT_FALSE((Credentials{std::string(257, 'a'), made.password}).valid());
}

// A client and a lite agent on a link with a delay of 20 ms that loses selected datagrams.
struct Link {
    explicit Link(ClientOptions options) : client(std::move(options)), agent(kServer) {}
    void run_until(int64_t end_ms) {
        for (; now_ms <= end_ms; ++now_ms) {
            while (auto out = client.poll(now_ms)) {
                ++sent;
                if (lost(*out)) continue;
                flying.push_back({now_ms + 20, true, client_address, {out->bytes.begin(), out->bytes.end()}});
            }
            while (!flying.empty() && flying.front().at_ms <= now_ms) {
                auto one = std::move(flying.front());
                flying.pop_front();
                deliver(one);
            }
        }
    }
    struct Datagram {
        int64_t at_ms;
        bool to_agent;
        base::Endpoint from;
        std::vector<uint8_t> bytes;
    };
    void deliver(const Datagram& one) {
        if (!one.to_agent) {
            if (one.from == client_address) client.on_datagram(one.bytes, kHere, now_ms);
            return;
        }
        std::array<uint8_t, kMaxReplySize> out;
        auto reply = agent.on_request(one.bytes, one.from, now_ms, out);
        if (reply.size)
            flying.push_back(
                {now_ms + 20, false, one.from, {out.begin(), out.begin() + static_cast<ptrdiff_t>(reply.size)}});
    }
    Client client;
    LiteAgent agent;
    base::Endpoint client_address = kHome;
    std::function<bool(const Outgoing&)> lost = [](const Outgoing&) { return false; };
    std::deque<Datagram> flying;
    int64_t now_ms = 0;
    int sent = 0;
};

ClientOptions options(bool aggressive) { return {.local = kPeer, .remote = kServer, .aggressive = aggressive}; }

TEST(IceClient, BothNominationsSelect) {
    for (bool aggressive : {false, true}) {
        Link link(options(aggressive));
        link.agent.set_remote(kPeer.ufrag, kPeer.password);
        link.client.add_remote(kHere);
        link.run_until(aggressive ? 45 : 85);
        ASSERT_TRUE(link.client.selected()) << aggressive;
        EXPECT_EQ(*link.client.selected(), kHere);
        ASSERT_TRUE(link.agent.selected()) << aggressive;
        EXPECT_EQ(*link.agent.selected(), kHome);
        EXPECT_EQ(link.client.mapped(), kHome);
        EXPECT_EQ(link.sent, aggressive ? 1 : 2);
    }
}

TEST(IceClient, TrickledCandidatesAndLoss) {
    Link link(options(false));
    link.client.add_remote(at("203.0.113.1", 9));  // nothing at this address
    int count = 0;
    link.lost = [&](const Outgoing& out) { return out.to != kHere || ++count % 3 != 0; };
    link.run_until(500);
    EXPECT_FALSE(link.client.selected());
    link.client.add_remote(kHere);
    link.client.add_remote(kHere);
    link.run_until(6000);
    ASSERT_TRUE(link.client.selected());
    EXPECT_EQ(*link.client.selected(), kHere);
    EXPECT_TRUE(link.agent.selected());
}

TEST(IceClient, KeepsConsentAndLosesIt) {
    Link link(options(false));
    link.client.add_remote(kHere);
    link.run_until(100'000);
    EXPECT_TRUE(link.client.consent(link.now_ms));
    EXPECT_LT(link.sent, 2 + 100'000 / 4000 + 1);
    EXPECT_GT(link.sent, 100'000 / 6000);
    link.lost = [](const Outgoing&) { return true; };
    link.run_until(140'000);
    EXPECT_FALSE(link.client.consent(link.now_ms));
    link.lost = [](const Outgoing&) { return false; };
    link.run_until(150'000);
    EXPECT_TRUE(link.client.consent(link.now_ms));
}

TEST(IceClient, MovesAndRestarts) {
    Link link(options(false));
    link.client.add_remote(kHere);
    link.run_until(1000);
    link.client_address = kMobile;
    link.run_until(20'000);
    EXPECT_EQ(*link.agent.selected(), kMobile);
    EXPECT_EQ(link.client.mapped(), kMobile);

    const Credentials server{"again123", "anotherPasswordOf24Chars"}, peer{"newPeer1", "andAnotherPasswordOf24Ch"};
    link.agent.restart(server, peer.ufrag, peer.password);
    link.client.restart(peer, server);
    link.client_address = kHome;
    link.run_until(20'200);
    EXPECT_EQ(link.agent.local().ufrag, "again123");
    EXPECT_EQ(*link.agent.selected(), kHome);
    EXPECT_TRUE(link.client.consent(link.now_ms));
}

TEST(IceClient, ChangesItsRoleWhenToldTo) {
    auto wrong = options(false);
    wrong.controlling = false;
    Link link(wrong);
    link.client.add_remote(kHere);
    link.run_until(200);
    EXPECT_EQ(link.client.last_error(), 487);
    EXPECT_TRUE(link.agent.selected());
}

TEST(IceClient, GivesUp) {
    Link link(options(false));
    link.client.add_remote(kHere);
    link.lost = [](const Outgoing&) { return true; };
    link.run_until(1000);
    EXPECT_FALSE(link.client.failed());
    link.run_until(20'000);
    EXPECT_TRUE(link.client.failed());
    EXPECT_EQ(link.sent, Client::kMaxSends);
}

TEST(IceClient, BelievesNoAnswerWithoutIntegrity) {
    auto mistaken = options(false);
    mistaken.remote.password = "notThePasswordOfTheServer";
    Link link(mistaken);
    link.client.add_remote(kHere);
    link.run_until(20'000);
    EXPECT_FALSE(link.client.selected());
    EXPECT_EQ(link.client.last_error(), 401);
    EXPECT_TRUE(link.client.failed());
}

}  // namespace
}  // namespace ice
