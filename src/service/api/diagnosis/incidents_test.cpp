#include "service/api/diagnosis/incidents.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "net/sessions/account.h"
#include "runtime/loop/testing.h"
#include "service/other_process_testing.h"

namespace service::api {
namespace {

struct IncidentOwner final : live::PublicationOwner {
    bool publisher_alive() const override { return true; }
    bool is_relay() const override { return relay; }
    bool is_copy() const override { return copy; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
    bool relay = false, copy = false;
};

class IncidentsTest : public runtime::testing::RuntimeTest {
  protected:
    base::Ref<live::Stream> stream(const std::string& name) {
        return registry_.find_or_create({"v", "live", name}, {});
    }
    void publish_and_end(const std::string& name) {
        const auto made = stream(name);
        auto publication = made->acquire(owner_, false);
        ASSERT_TRUE(publication);
        publication->end();
    }
    // The first one began that long ago.
    void age(int64_t ms) { const_cast<Incident&>(*incidents_.newest().back()).from_ms -= ms; }

    live::Registry registry_;
    live::Events events_;
    ::service::testing::FakeOtherProcess other_;
    Offers offers_;
    Incidents incidents_{registry_, events_, offers_};
    IncidentOwner owner_;
};

TEST_F(IncidentsTest, APublisherIsGoneUntilAnotherOneComes) {
    const auto made = stream("a");
    auto publication = made->acquire(owner_, false);
    ASSERT_TRUE(publication);
    EXPECT_TRUE(incidents_.newest().empty());
    made->expect_file_players(INT64_MAX);
    publication->end();
    auto found = incidents_.newest(net::stream_id(made->key()));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0]->kind, Incident::Kind::kPublisherGone);
    EXPECT_EQ(found[0]->to_ms, 0) << "it lasts";
    EXPECT_EQ(found[0]->players_before, 1u);
    age(120'000);
    made->expect_file_players(0);
    publication = made->acquire(owner_, false);
    ASSERT_TRUE(publication);
    found = incidents_.newest();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_GE(found[0]->to_ms, found[0]->from_ms + 120'000);
    EXPECT_TRUE(incidents_.newest("vid-another").empty());
}

TEST_F(IncidentsTest, ATakeoverIsNone) {
    publish_and_end("a");
    ASSERT_EQ(incidents_.newest().size(), 1u);
    auto publication = stream("a")->acquire(owner_, false);
    ASSERT_TRUE(publication);
    EXPECT_TRUE(incidents_.newest().empty()) << "the next one came at once";
}

TEST_F(IncidentsTest, ThePullOfAStreamEndsWithItsPlayers) {
    owner_.relay = true;
    publish_and_end("a");
    EXPECT_TRUE(incidents_.newest().empty());
    const auto made = stream("b");
    auto publication = made->acquire(owner_, false);
    made->expect_file_players(INT64_MAX);
    publication->end();
    EXPECT_EQ(incidents_.newest().size(), 1u) << "its players are there";
}

TEST_F(IncidentsTest, AStreamEndsWithTheProcessThatPublishesIt) {
    const auto made = stream("a");
    other_.published = {made->key()};
    offers_.other_process = &other_;
    incidents_.other_process_changed(made->key());
    owner_.copy = true;
    auto copy = made->acquire(owner_, false);
    ASSERT_TRUE(copy);
    made->expect_file_players(INT64_MAX);
    other_.published.clear();
    incidents_.other_process_changed(made->key());
    copy->end();
    auto found = incidents_.newest();
    ASSERT_EQ(found.size(), 1u) << "one, whichever of the two ends first";
    EXPECT_EQ(found[0]->kind, Incident::Kind::kPublisherGone);
    EXPECT_EQ(found[0]->to_ms, 0) << "the end of the copy is not its publisher's return";
    EXPECT_EQ(found[0]->players_before, 1u);
    EXPECT_NE(found[0]->text.find("the other process of the server"), std::string::npos) << found[0]->text;
    age(5'000);
    owner_.copy = false;
    const auto again = made->acquire(owner_, false);
    ASSERT_TRUE(again);
    EXPECT_GE(incidents_.newest().at(0)->to_ms, incidents_.newest().at(0)->from_ms + 5'000);
}

TEST_F(IncidentsTest, WhatTheOtherProcessHasToldOfItsStreamIsNoSecondOne) {
    const live::StreamKey key{"v", "live", "a"};
    other_.published = {key, {"v", "live", "another"}};
    offers_.other_process = &other_;
    incidents_.other_process_changed(key);
    other_.published.erase(key);
    incidents_.other_process_changed(key);
    EXPECT_TRUE(incidents_.newest().empty()) << "it is the other process that tells";
    const int64_t from_ms = base::wall_ms() - 100;
    incidents_.adopt({.stream = key, .kind = Incident::Kind::kPublisherGone, .from_ms = from_ms});
    EXPECT_TRUE(incidents_.newest().empty()) << "it lists its own itself until it ends";
    other_.published.clear();
    incidents_.other_process_changed(key);
    ASSERT_EQ(incidents_.newest().size(), 1u);
    EXPECT_EQ(incidents_.newest()[0]->from_ms, from_ms);
}

TEST_F(IncidentsTest, AnOutputFailsUntilItWorks) {
    const live::StreamKey key{"v", "live", "a"};
    events_.notify(live::OutputFailed{key, "dvr", {}, "writing 1.flv: no space"});
    events_.notify(live::OutputFailed{key, "dvr", {}, "no space"});
    ASSERT_EQ(incidents_.newest().size(), 1u) << "the next attempt is the same incident, whatever its file is";
    events_.notify(live::OutputRecovered{key, "hls"});
    EXPECT_EQ(incidents_.newest()[0]->to_ms, 0);
    events_.notify(live::OutputRecovered{key, "dvr"});
    EXPECT_GT(incidents_.newest()[0]->to_ms, 0);
    EXPECT_EQ(incidents_.newest()[0]->text, "no space");
    events_.notify(live::OutputFailed{key, "dvr", {}, std::string(5000, 'x')});
    ASSERT_EQ(incidents_.newest().size(), 2u);
    EXPECT_EQ(incidents_.newest()[0]->text.size() + incidents_.newest()[1]->text.size(), Incidents::kMaxTextBytes + 8);
    publish_and_end("a");
    for (const auto& incident : incidents_.newest())
        EXPECT_EQ(incident->to_ms == 0, incident->kind == Incident::Kind::kPublisherGone)
            << "outputs end with their stream";
}

TEST_F(IncidentsTest, AreBoundedByStreamAndInAllAndByTime) {
    for (size_t i = 0; i < 2 * Incidents::kMaxOfStream; ++i)
        events_.notify(live::OutputFailed{{"v", "live", "a"}, fmt::format("output {}", i), {}, std::to_string(i)});
    EXPECT_EQ(incidents_.newest().size(), Incidents::kMaxOfStream);
    EXPECT_EQ(incidents_.newest()[0]->text, std::to_string(2 * Incidents::kMaxOfStream - 1)) << "the newest are kept";
    for (size_t i = 0; i < Incidents::kMaxStreams; ++i)
        events_.notify(live::OutputFailed{{"v", "live", fmt::format("s{}", i)}, "hls", {}, "x"});
    EXPECT_EQ(incidents_.newest().size(), Incidents::kMaxStreams);
    EXPECT_TRUE(incidents_.newest(net::stream_id({"v", "live", "a"})).empty()) << "the oldest stream went first";
    Incident& old = const_cast<Incident&>(*incidents_.newest(net::stream_id({"v", "live", "s7"})).at(0));
    old.from_ms -= 2 * Incidents::kKeepMs;
    EXPECT_EQ(incidents_.newest().size(), Incidents::kMaxStreams) << "it lasts";
    old.to_ms = old.from_ms + 1000;
    EXPECT_EQ(incidents_.newest().size(), Incidents::kMaxStreams - 1) << "over for more than a day";
}

}  // namespace
}  // namespace service::api
