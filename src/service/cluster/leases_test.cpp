#include "service/cluster/leases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace service::cluster {
namespace {

using base::StreamKey;

// A Redis with a clock that is handed in.
class FakeStore final : public Store {
  public:
    struct Value {
        std::string text;
        int64_t until_ms;
    };
    std::map<std::string, Value> values;
    int64_t now_ms = 1'000;
    int64_t lease_ms = 10'000;
    bool away = false;
    std::vector<size_t> batches;
    std::function<void()> meanwhile;  // while a call waits

    std::string get(const std::string& key) {
        const auto found = values.find(key);
        return found == values.end() || found->second.until_ms <= now_ms ? std::string() : found->second.text;
    }
    void set(const std::string& key, const std::string& text) { values[key] = {text, now_ms + lease_ms}; }

    base::Result<std::string> acquire(const std::string& key, const std::string& value) override {
        TRY(wait());
        auto held = get(key);
        if (held.empty()) set(key, value);
        return held;
    }
    base::Result<std::vector<std::string>> claim(std::span<const Claim> claims) override {
        TRY(wait());
        batches.push_back(claims.size());
        std::vector<std::string> held;
        for (const Claim& claim : claims) {
            auto now = get(claim.key);
            if (now.empty() || now == claim.value || now == claim.expected) {
                set(claim.key, claim.value);
                now.clear();
            }
            held.push_back(now);
        }
        return held;
    }
    base::Result<void> release(std::span<const Claim> claims) override {
        TRY(wait());
        for (const Claim& claim : claims)
            if (get(claim.key) == claim.value) values.erase(claim.key);
        return {};
    }
    base::Result<std::string> find(const std::string& key) override {
        TRY(wait());
        return get(key);
    }

  private:
    base::Result<void> wait() {
        if (auto now = std::exchange(meanwhile, {})) now();
        if (away) return base::fail(base::Code::kClosed, "away");
        return {};
    }
};

struct Origin final : LeaseOwner {
    Origin(FakeStore& store, const std::string& name) : store(store), leases(store, *this) {
        leases.configure("p", Record{"rtmp://" + name, "http://" + name, "", name, 0}, store.lease_ms);
    }
    void lease_lost(const StreamKey& stream, const Record& winner) override {
        lost += stream.name + " to " + winner.rtmp + ";";
    }
    bool is_exclusive(const StreamKey&) const override { return exclusive; }
    bool is_gone(const Record& record) override { return gone.contains(record.fence); }
    Leases::Times times() const { return {store.now_ms, 1'000'000 + store.now_ms}; }
    std::string admit(const std::string& name) {
        auto admitted = leases.admit({"v", "live", name}, times());
        return admitted ? "" : admitted.error().text();
    }
    void publish(const std::string& name) { leases.published({"v", "live", name}, times()); }
    void unpublish(const std::string& name) { leases.unpublished({"v", "live", name}); }
    // Until nothing is due.
    bool work() {
        for (int i = 0; i < 10 && leases.next_ms() <= store.now_ms; ++i)
            if (!leases.work(store.now_ms)) return false;
        return leases.next_ms() > store.now_ms;
    }
    FakeStore& store;
    Leases leases;
    std::string lost;
    bool exclusive = true;
    std::set<std::string> gone;
};

class LeasesTest : public ::testing::Test {
  protected:
    std::string holder(const std::string& name = "s") {
        const auto record = parse_record(store_.get("p:stream:v/live/" + name));
        return record ? record->fence : "";
    }
    void pass(int64_t ms, bool working = true) {
        for (int64_t left = ms; left > 0; left -= 500) {
            store_.now_ms += std::min<int64_t>(left, 500);
            if (!working) continue;
            (void)a_.work();
            (void)b_.work();
        }
    }
    FakeStore store_;
    Origin a_{store_, "a:1"}, b_{store_, "b:1"};
};

TEST_F(LeasesTest, LiveAsLongAsTheStream) {
    EXPECT_EQ(a_.admit("s"), "");
    EXPECT_EQ(holder(), "a:1") << "before it is published";
    a_.publish("s");
    pass(60'000);
    EXPECT_EQ(holder(), "a:1");
    EXPECT_EQ(a_.leases.counters().acquired, 1u);
    EXPECT_EQ(a_.leases.counters().renewed, 60'000u / 2'500);
    EXPECT_TRUE(a_.leases.is_held(a_.leases.list().begin()->second, store_.now_ms));
    a_.unpublish("s");
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "");
    EXPECT_TRUE(a_.leases.list().empty());
}

TEST_F(LeasesTest, RefuseAPublisherElsewhereAndNameTheServer) {
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    EXPECT_EQ(b_.admit("s"),
              "v/live/s is published at rtmp://a:1 already; if that server is gone, its name is free in 10 s");
    EXPECT_EQ(b_.leases.counters().refused, 1u);
    EXPECT_TRUE(b_.leases.list().empty());
    EXPECT_EQ(b_.admit("other"), "");
    a_.unpublish("s");
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(b_.admit("s"), "");
}

TEST_F(LeasesTest, EndWithTheServer) {
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    pass(9'900, false);
    EXPECT_NE(b_.admit("s"), "") << "a killed server's lease ends by its time alone";
    pass(100, false);
    EXPECT_EQ(b_.admit("s"), "");
    EXPECT_EQ(holder(), "b:1");
}

TEST_F(LeasesTest, OfAServerThatIsGoneAreTakenOverAtOnce) {
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    b_.gone = {"a:1"};
    EXPECT_EQ(b_.admit("s"), "");
    EXPECT_EQ(holder(), "b:1");
    EXPECT_EQ(b_.leases.counters().inherited, 1u);
    b_.publish("s");
    EXPECT_TRUE(b_.work());
    EXPECT_EQ(b_.leases.counters().renewed, 0u) << "it is held already";
    // It was there after all.
    pass(2'500);
    EXPECT_EQ(holder(), "a:1");
    pass(2'500);
    EXPECT_EQ(b_.lost, "s to rtmp://a:1;");
    EXPECT_EQ(a_.lost, "");
}

TEST_F(LeasesTest, ThatChangeMeanwhileAreNotTakenOver) {
    Origin c(store_, "c:1");
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    struct Slow final : LeaseOwner {
        void lease_lost(const StreamKey&, const Record&) override {}
        bool is_exclusive(const StreamKey&) const override { return true; }
        bool is_gone(const Record&) override { return meanwhile(), true; }
        std::function<void()> meanwhile;
    } owner;
    owner.meanwhile = [&] {
        store_.now_ms += 10'000;
        EXPECT_EQ(c.admit("s"), "");
    };
    Leases late(store_, owner);
    late.configure("p", Record{"rtmp://d:1", "", "", "d:1", 0}, store_.lease_ms);
    EXPECT_FALSE(late.admit({"v", "live", "s"}, c.times()));
    EXPECT_EQ(holder(), "c:1");
}

TEST_F(LeasesTest, ThatAreNotExclusiveWaitForEachOther) {
    a_.exclusive = b_.exclusive = false;
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    EXPECT_EQ(b_.admit("s"), "");
    b_.publish("s");
    pass(30'000);
    EXPECT_EQ(holder(), "a:1");
    EXPECT_TRUE(b_.leases.list().begin()->second.waiting);
    EXPECT_EQ(a_.lost + b_.lost, "");
    EXPECT_LT(store_.batches.size(), 30u) << "claimed in a quarter of the lease";
    a_.unpublish("s");
    pass(3'000);
    EXPECT_EQ(holder(), "b:1");
    EXPECT_FALSE(b_.leases.list().begin()->second.waiting);
    EXPECT_TRUE(b_.leases.is_held(b_.leases.list().begin()->second, store_.now_ms));
    // The first one comes again, and waits.
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    pass(6'000);
    EXPECT_EQ(holder(), "b:1");
    a_.unpublish("s");
    pass(3'000);
    EXPECT_EQ(holder(), "b:1") << "who waits releases nothing";
    // By a reload: now the earlier one stays, and the other is ended.
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    a_.exclusive = b_.exclusive = true;
    pass(6'000);
    EXPECT_EQ(a_.lost, "s to rtmp://b:1;");
}

TEST_F(LeasesTest, OfAnEarlierProcessAtThisAddressAreTakenOver) {
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    Origin restarted(store_, "a:1");
    restarted.leases.configure("p", Record{"rtmp://a:1", "http://a:1", "", "a:1 restarted", 0}, store_.lease_ms);
    EXPECT_EQ(restarted.admit("s"), "") << "it listens there now, so the other one is gone";
    restarted.publish("s");
    EXPECT_TRUE(restarted.work());
    EXPECT_EQ(holder(), "a:1 restarted");
    EXPECT_NE(b_.admit("s"), "");
}

TEST_F(LeasesTest, OfAPublisherThatCouldNotPublishIsReleased) {
    EXPECT_EQ(a_.admit("s"), "");
    a_.leases.left({"v", "live", "s"});
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "");
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    a_.leases.left({"v", "live", "s"});
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "a:1") << "another publisher of this server has the name";
}

TEST_F(LeasesTest, StayWhenAPublisherFollowsAnother) {
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    pass(1'000);
    EXPECT_EQ(a_.admit("s"), "") << "the server itself decides about its publishers";
    a_.unpublish("s");
    a_.publish("s");
    store_.meanwhile = [&] { EXPECT_EQ(holder(), "a:1") << "never free"; };
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "a:1");
    EXPECT_EQ(parse_record(store_.get("p:stream:v/live/s"))->since_ms, 1'000'000 + store_.now_ms);
}

TEST_F(LeasesTest, AreMadeWhenTheStoreIsBack) {
    store_.away = true;
    EXPECT_EQ(a_.admit("s"), "") << "without the store publishers are admitted";
    EXPECT_EQ(a_.leases.counters().unguarded, 1u);
    a_.publish("s");
    EXPECT_FALSE(a_.work());
    store_.away = false;
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "a:1");
    // It restarts, and has lost all.
    store_.values.clear();
    a_.leases.renew_all();
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "a:1");
}

TEST_F(LeasesTest, OfTwoPublicationsTheEarlierStays) {
    store_.away = true;
    a_.publish("s");
    pass(1'000);
    b_.publish("s");
    pass(1'000);
    store_.away = false;
    // The later one registers first.
    EXPECT_TRUE(b_.work());
    EXPECT_EQ(holder(), "b:1");
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "a:1");
    EXPECT_EQ(a_.lost, "");
    EXPECT_EQ(a_.leases.counters().won, 1u);
    pass(2'500);
    EXPECT_EQ(b_.lost, "s to rtmp://a:1;");
    EXPECT_EQ(b_.leases.counters().lost, 1u);
    b_.unpublish("s");
    EXPECT_TRUE(b_.work());
    EXPECT_EQ(holder(), "a:1") << "who lost it does not release it";
}

TEST_F(LeasesTest, TheLaterGivesWayAtOnceWhereTheEarlierIsThere) {
    store_.away = true;
    a_.publish("s");
    pass(1);
    b_.publish("s");
    store_.away = false;
    EXPECT_TRUE(a_.work());
    EXPECT_TRUE(b_.work());
    EXPECT_EQ(b_.lost, "s to rtmp://a:1;");
    EXPECT_EQ(holder(), "a:1");
}

TEST_F(LeasesTest, AtTheSameMomentTheFenceDecides) {
    store_.away = true;
    b_.publish("s");
    a_.publish("s");
    store_.away = false;
    EXPECT_TRUE(b_.work());
    EXPECT_TRUE(a_.work());
    pass(2'500);
    EXPECT_EQ(holder(), "a:1");
    EXPECT_EQ(a_.lost + b_.lost, "s to rtmp://a:1;");
}

TEST_F(LeasesTest, AServerThatWasCutOffMeetsTheOther) {
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    pass(12'000, false);  // it cannot reach the store
    EXPECT_EQ(b_.admit("s"), "");
    b_.publish("s");
    EXPECT_TRUE(b_.work());
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "a:1") << "its publication began earlier";
    pass(2'500);
    EXPECT_EQ(b_.lost, "s to rtmp://a:1;");
    EXPECT_EQ(a_.lost, "");
}

TEST_F(LeasesTest, AStreamThatEndsDuringTheClaimIsReleased) {
    a_.publish("s");
    store_.meanwhile = [&] { a_.unpublish("s"); };
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "");
}

TEST_F(LeasesTest, AreDescribedAnew) {
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    a_.leases.configure("p", Record{"rtmp://new:1", "", "", "a:1", 0}, store_.lease_ms);
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(parse_record(store_.get("p:stream:v/live/s"))->rtmp, "rtmp://new:1");
    a_.leases.configure("q", Record{"rtmp://new:1", "", "", "a:1", 0}, store_.lease_ms);
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "") << "the key of the old prefix is released";
    EXPECT_NE(store_.get("q:stream:v/live/s"), "");
    EXPECT_EQ(a_.lost, "");
}

TEST_F(LeasesTest, AreRenewedInBatches) {
    for (int i = 0; i < 200; ++i) a_.publish(fmt::format("s{}", i));
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(store_.batches, (std::vector<size_t>{64, 64, 64, 8}));
    EXPECT_EQ(a_.leases.counters().acquired, 200u);
    EXPECT_EQ(holder("s199"), "a:1");
}

TEST_F(LeasesTest, WhatIsNoRecordIsReplaced) {
    store_.set("p:stream:v/live/s", "garbage");
    EXPECT_EQ(a_.admit("s"), "");
    a_.publish("s");
    EXPECT_TRUE(a_.work());
    EXPECT_EQ(holder(), "a:1");
}

TEST_F(LeasesTest, LongNamesHaveNone) {
    const std::string name(2'000, 'a');
    EXPECT_EQ(a_.admit(name), "");
    a_.publish(name);
    EXPECT_TRUE(a_.leases.list().empty());
}

}  // namespace
}  // namespace service::cluster
