#include "service/cluster/locations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace service::cluster {
namespace {

using base::StreamKey;

// It answers after a while, as Redis does.
class SlowStore final : public Store {
  public:
    std::map<std::string, std::string> values;
    int64_t delay_ms = 10;
    bool away = false;
    int asked = 0;

    base::Result<std::string> find(const std::string& key) override {
        ++asked;
        TRY(runtime::sleep_ms(delay_ms));
        if (away) return base::fail(base::Code::kClosed, "away");
        const auto found = values.find(key);
        return found == values.end() ? std::string() : found->second;
    }
    base::Result<std::string> acquire(const std::string&, const std::string&) override { return std::string(); }
    base::Result<std::vector<std::string>> claim(std::span<const Claim>) override { return std::vector<std::string>(); }
    base::Result<void> release(std::span<const Claim>) override { return {}; }
};

struct FakeCoworker {
    std::map<std::string, std::string> streams;  // name: address
    int64_t delay_ms = 10;
    bool broken = false;
    int asked = 0;
};

class LocationsTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        time_ = std::make_unique<runtime::testing::SimulatedTime>();
        locations_ = std::make_unique<Locations>(
            store_, [this](const std::string& name, const StreamKey& stream) { return ask(name, stream); });
        locations_->configure("p", Record{"rtmp://me", "", "", "me", 0});
    }
    void TearDown() override {
        locations_->stop();
        EXPECT_EQ(locations_->questions(), 0u);
        locations_.reset();
        time_.reset();
    }
    base::Result<Record> ask(const std::string& name, const StreamKey& stream) {
        FakeCoworker& coworker = coworkers_[name];
        ++coworker.asked;
        TRY(runtime::sleep_ms(std::min<int64_t>(coworker.delay_ms, Locations::kCoworkerMs)));
        if (coworker.broken || coworker.delay_ms > Locations::kCoworkerMs)
            return base::fail(base::Code::kTimeout, "no answer");
        Record record;
        if (const auto found = coworker.streams.find(stream.name); found != coworker.streams.end())
            record.rtmp = found->second;
        return record;
    }
    void has(const std::string& name, const std::string& server) {
        store_.values["p:stream:v/live/" + name] = to_text(Record{"rtmp://" + server, "", "", server, 1});
    }
    // Its address, "" if there is none, "waits" after the time.
    std::string find(const std::string& name, int64_t within_ms = 5'000) {
        std::string found = "waits";
        auto task = runtime::spawn("find", [&] {
            const auto record = locations_->find({"v", "live", name}, sources_);
            found = record ? record->rtmp : "";
        });
        for (int64_t ms = 0; ms < within_ms && !task.done(); ms += 10) time_->pass_ms(10);
        task.cancel_and_join();
        return found;
    }

    std::unique_ptr<runtime::testing::SimulatedTime> time_;
    SlowStore store_;
    std::map<std::string, FakeCoworker> coworkers_;
    Locations::Sources sources_{true, {}};
    std::unique_ptr<Locations> locations_;
};

TEST_F(LocationsTest, AnswersCountForASecond) {
    has("s", "a:1");
    EXPECT_EQ(find("s"), "rtmp://a:1");
    EXPECT_EQ(find("s"), "rtmp://a:1");
    EXPECT_EQ(find("none"), "");
    EXPECT_EQ(find("none"), "");
    EXPECT_EQ(store_.asked, 2) << "one question for each name";
    has("s", "b:1");
    has("none", "b:1");
    time_->pass_ms(Locations::kFreshMs);
    EXPECT_EQ(find("s"), "rtmp://b:1");
    EXPECT_EQ(find("none"), "rtmp://b:1");
}

TEST_F(LocationsTest, OneQuestionForManyPlayers) {
    has("s", "a:1");
    int answered = 0;
    std::vector<runtime::Task> tasks;
    for (int i = 0; i < 100; ++i)
        tasks.push_back(runtime::spawn("find", [&] {
            const auto record = locations_->find({"v", "live", "s"}, sources_);
            if (record) ++answered;
        }));
    time_->pass_ms(5);
    tasks.front().cancel_and_join();  // the one that asked leaves
    time_->pass_ms(20);
    for (auto& task : tasks) task.cancel_and_join();
    EXPECT_EQ(answered, 99);
    EXPECT_EQ(store_.asked, 1);
}

TEST_F(LocationsTest, ItsOwnStreamsAreNotElsewhere) {
    has("s", "me");
    EXPECT_EQ(find("s"), "");
    store_.values["p:stream:v/live/t"] = "garbage";
    EXPECT_EQ(find("t"), "");
    store_.values["p:stream:v/live/u"] = to_text(Record{"rtmp://me", "", "", "an earlier process", 1});
    EXPECT_EQ(find("u"), "") << "it would be asked for its own stream";
}

TEST_F(LocationsTest, TheLastKnownCountsWhileTheStoreIsAway) {
    has("s", "a:1");
    EXPECT_EQ(find("s"), "rtmp://a:1");
    store_.away = true;
    time_->pass_ms(60'000);
    EXPECT_EQ(find("s"), "rtmp://a:1");
    EXPECT_EQ(find("unknown"), "");
    EXPECT_EQ(locations_->counters().last_known, 2u);
    time_->pass_ms(Locations::kKnownMs);
    EXPECT_EQ(find("s"), "") << "not for ever";
    store_.away = false;
    store_.values.clear();
    time_->pass_ms(Locations::kFreshMs);
    EXPECT_EQ(find("s"), "");
    store_.away = true;
    time_->pass_ms(Locations::kFreshMs);
    EXPECT_EQ(find("s"), "") << "that it is nowhere is known, too";
}

TEST_F(LocationsTest, CoworkersAreAskedAtTheSameTime) {
    sources_ = {false, {"x", "y", "z"}};
    for (const char* name : {"x", "y", "z"}) coworkers_[name].delay_ms = 500;
    coworkers_["z"].streams["s"] = "rtmp://z:1935";
    EXPECT_EQ(find("s", 550), "rtmp://z:1935");
    EXPECT_EQ(find("none", 550), "");
    EXPECT_EQ(store_.asked, 0);
}

TEST_F(LocationsTest, CoworkersAreAskedWhereTheStoreKnowsNothing) {
    sources_ = {true, {"x"}};
    coworkers_["x"].streams["s"] = "rtmp://x:1935";
    has("t", "a:1");
    EXPECT_EQ(find("s"), "rtmp://x:1935");
    EXPECT_EQ(find("t"), "rtmp://a:1");
    EXPECT_EQ(coworkers_["x"].asked, 1);
    store_.away = true;
    time_->pass_ms(Locations::kFreshMs);
    EXPECT_EQ(find("s"), "rtmp://x:1935");
}

TEST_F(LocationsTest, ACoworkerThatHangsIsSkippedForAWhile) {
    sources_ = {false, {"x", "y"}};
    coworkers_["x"].delay_ms = 60'000;
    coworkers_["y"].streams["s"] = "rtmp://y:1935";
    EXPECT_EQ(find("s", 50), "rtmp://y:1935") << "the answer of the other one is enough";
    EXPECT_EQ(find("none", Locations::kCoworkerMs + 50), "");
    EXPECT_EQ(locations_->coworkers().at("x").error.text(), "no answer");
    EXPECT_EQ(find("other", 50), "") << "it is not asked";
    const int asked = coworkers_["x"].asked;
    EXPECT_EQ(find("none", 50), "");
    EXPECT_EQ(coworkers_["y"].asked, 3) << "that it is nowhere counts for a while";
    time_->pass_ms(Locations::kFirstSkippedMs);
    coworkers_["x"].delay_ms = 10;
    EXPECT_EQ(find("third", 50), "");
    EXPECT_EQ(coworkers_["x"].asked, asked + 1);
    EXPECT_EQ(locations_->coworkers().at("x").error.text(), "");
    locations_->keep_coworkers({"y"});
    EXPECT_EQ(locations_->coworkers().size(), 1u);
}

TEST_F(LocationsTest, NobodyAnswersAndTheLastKnownCounts) {
    sources_ = {false, {"x"}};
    coworkers_["x"].streams["s"] = "rtmp://x:1935";
    EXPECT_EQ(find("s"), "rtmp://x:1935");
    coworkers_["x"].broken = true;
    time_->pass_ms(Locations::kFreshMs);
    EXPECT_EQ(find("s"), "rtmp://x:1935");
}

TEST_F(LocationsTest, QuestionsAreLimited) {
    store_.delay_ms = 10'000;
    std::vector<runtime::Task> tasks;
    for (size_t i = 0; i < Locations::kMaxQuestions; ++i)
        tasks.push_back(runtime::spawn("find", [this, i] {
            (void)locations_->find({"v", "live", fmt::format("s{}", i)}, sources_);
        }));
    time_->pass_ms(10);
    EXPECT_EQ(find("one more", 20), "");
    EXPECT_EQ(locations_->counters().left_out, 1u);
    EXPECT_EQ(find(std::string(2'000, 'a'), 20), "") << "a long name is not looked up";
    for (auto& task : tasks) task.cancel_and_join();
}

TEST_F(LocationsTest, CoworkersAreAskedAboutAFewStreamsAtOnce) {
    sources_ = {false, {"x"}};
    coworkers_["x"].delay_ms = 900;
    std::vector<runtime::Task> tasks;
    for (size_t i = 0; i < 2 * Locations::kMaxRounds; ++i)
        tasks.push_back(runtime::spawn("find", [this, i] {
            (void)locations_->find({"v", "live", fmt::format("s{}", i)}, sources_);
        }));
    time_->pass_ms(1'000);
    for (auto& task : tasks) EXPECT_TRUE(task.done());
    EXPECT_EQ(coworkers_["x"].asked, static_cast<int>(Locations::kMaxRounds));
}

TEST_F(LocationsTest, WhatIsKeptIsLimited) {
    store_.delay_ms = 0;
    const std::string filler(900, 'n');
    for (size_t i = 0; i < 3 * Locations::kMaxFresh; ++i)
        (void)locations_->find({"v", "live", fmt::format("{}{}", filler, i)}, sources_);
    EXPECT_LE(locations_->known_bytes(), Locations::kMaxKnownBytes + Locations::kMaxFreshBytes);
}

TEST(ClusterRecent, DropsTheLeastRecentlyUsed) {
    Recent<int> recent(3, 100'000);
    const auto key = [](const std::string& name) { return StreamKey{"v", "a", name}; };
    for (int i = 0; i < 3; ++i) recent.put(key(std::to_string(i)), i, 0);
    EXPECT_NE(recent.find(key("0")), nullptr);
    recent.put(key("3"), 3, 0);
    EXPECT_EQ(recent.find(key("1")), nullptr) << "it was used before the others";
    EXPECT_EQ(*recent.find(key("0")), 0);
    recent.put(key("0"), 7, 0);
    EXPECT_EQ(*recent.find(key("0")), 7);
    EXPECT_EQ(recent.size(), 3u);
    recent.put(key("large"), 1, 99'000);
    EXPECT_LE(recent.bytes(), 100'000u);
    recent.put(key("too large"), 1, 200'000);
    EXPECT_EQ(recent.size(), 0u);
    EXPECT_EQ(recent.bytes(), 0u);
}

}  // namespace
}  // namespace service::cluster
