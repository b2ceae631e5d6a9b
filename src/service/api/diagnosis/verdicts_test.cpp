#include "service/api/diagnosis/verdicts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "live/hub/testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "service/api/service_testing.h"

namespace service::api {
namespace {

using State = StreamOutput::State;

TEST(StreamVerdict, IsTheFirstOfTheWorst) {
    using V = CheckVerdict;
    EXPECT_EQ(verdict_of({}).level, VerdictLevel::kFine);
    EXPECT_EQ(verdict_of({{"publisher", V::kOk}, {"drift", V::kUnknown}}).level, VerdictLevel::kFine);
    const StreamVerdict notice = verdict_of({{"codecs", V::kWarn}, {"bitrate", V::kWarn}, {"viewer_drops", V::kWarn}});
    EXPECT_EQ(notice.level, VerdictLevel::kNotice);
    EXPECT_EQ(notice.code, "bitrate");
    const StreamVerdict sick = verdict_of(
        {{"bitrate", V::kWarn}, {"keyframe_age", V::kBad, 31.5, "s", "text", "advice"}, {"outputs", V::kBad}});
    EXPECT_EQ(sick.level, VerdictLevel::kSick);
    EXPECT_EQ(sick.code, "keyframe_age");
    EXPECT_EQ(sick.figure, 31.5);
    EXPECT_EQ(sick.text + sick.advice, "textadvice");
    EXPECT_EQ(verdict_of({{"codecs", V::kWarn}, {"b_frames", V::kWarn}}).level, VerdictLevel::kFine)
        << "the publisher has chosen them";
}

struct VerdictOwner final : live::PublicationOwner {
    bool publisher_alive() const override { return true; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
};

class VerdictsTest : public testing::ApiTest {
  protected:
    live::Publication publish(const std::string& name) {
        auto made = registry_.find_or_create({"__defaultVhost__", "live", name}, {})->acquire(owner_, false);
        EXPECT_TRUE(made);
        return std::move(*made);
    }
    Json one(const std::string& name) {
        return json("/api/v1/streams/" + net::stream_id({"__defaultVhost__", "live", name}))["stream"];
    }
    VerdictOwner owner_;
};

TEST_F(VerdictsTest, StreamsAreListedByTheirVerdict) {
    std::vector<live::Publication> all;
    for (const char* name : {"a", "b", "c"}) all.push_back(publish(name));
    offers_.outputs.push_back([](const live::StreamKey* only, const OutputVisit& visit) {
        const live::StreamKey b{"__defaultVhost__", "live", "b"}, c{"__defaultVhost__", "live", "c"};
        if (!only || *only == b) visit(b, {"forward", "rtmp://10.0.0.9", State::kFails, "connection refused"});
        if (!only || *only == c) visit(c, {"hook", "http://10.0.0.9:80", State::kFails, "no answer"});
        if (only && *only == b) visit(b, {"edge", "rtmp://10.0.0.8", State::kStarts});
    });
    EXPECT_EQ(json("/api/v1/streams?verdict=ill")["code"], 400);
    const Json sick = json("/api/v1/streams?verdict=sick");
    ASSERT_EQ(sick["total"], 1) << sick;
    EXPECT_EQ(sick["streams"][0]["name"], "b");
    EXPECT_EQ(sick["streams"][0]["verdict"]["level"], "sick");
    EXPECT_EQ(sick["streams"][0]["verdict"]["code"], "outputs");
    EXPECT_EQ(sick["streams"][0]["verdict"]["text"], "forward: to rtmp://10.0.0.9: connection refused");
    EXPECT_EQ(sick["streams"][0]["verdict"]["figure"], 1);
    const Json sorted = json("/api/v1/streams?sort=-verdict")["streams"];
    ASSERT_EQ(sorted.size(), 3u);
    EXPECT_EQ(sorted[0]["name"], "b");
    EXPECT_EQ(sorted[1]["name"], "c");
    EXPECT_EQ(sorted[1]["verdict"]["level"], "notice") << "a hook is no output of media: " << sorted[1];
    EXPECT_EQ(sorted[2]["verdict"]["level"], "fine") << sorted[2];
    EXPECT_EQ(json("/api/v1/overview")["overview"]["verdicts"], Json({{"fine", 1}, {"notice", 1}, {"sick", 1}}));
    const Json b = one("b");
    EXPECT_EQ(b["verdict"], sick["streams"][0]["verdict"]);
    ASSERT_EQ(b["outputs"].size(), 2u) << b;
    EXPECT_EQ(b["outputs"][1],
              Json({{"output", "edge"}, {"to", "rtmp://10.0.0.8"}, {"state", "starts"}, {"problem", ""}}));
    EXPECT_EQ(json("/api/v1/streams/" + net::stream_id({"__defaultVhost__", "live", "b"}) + "/explain")["level"],
              "sick");
}

TEST_F(VerdictsTest, OutputsHaveTheirStates) {
    const live::Publication a = publish("a");
    EXPECT_EQ(one("a")["outputs"], Json::array());
    offers_.segments.push_back({"hls", [](const config::Vhost&) { return std::optional(2.0); }, {}});
    EXPECT_EQ(one("a")["outputs"][0]["state"], "works");
    events_.notify(live::OutputFailed{{"__defaultVhost__", "live", "a"}, "hls", {}, "a disk is full"});
    events_.notify(live::OutputFailed{{"__defaultVhost__", "live", "a"}, "dvr", {}, "a disk is full"});
    const Json outputs = one("a")["outputs"];
    ASSERT_EQ(outputs.size(), 2u) << outputs;
    EXPECT_EQ(outputs[0], Json({{"output", "hls"}, {"to", ""}, {"state", "fails"}, {"problem", "a disk is full"}}));
    EXPECT_EQ(outputs[1]["output"], "dvr");
    const Json incidents = json("/api/v1/incidents?stream=" + net::stream_id({"__defaultVhost__", "live", "a"}));
    ASSERT_EQ(incidents["total"], 2) << incidents;
    EXPECT_EQ(incidents["incidents"][0]["kind"], "output_failed");
    EXPECT_EQ(incidents["incidents"][0]["to_ms"], nullptr);
    EXPECT_EQ(json("/api/v1/incidents?stream=vid-none")["total"], 0);
}

TEST_F(VerdictsTest, APassServesAllCallersForAWhile) {
    std::vector<live::Publication> all;
    for (int i = 0; i < 1'000; ++i) all.push_back(publish(fmt::format("s{}", i)));
    const Context context{parts_, snapshot_};
    Verdicts verdicts(context);
    runtime::testing::SimulatedTime time;
    std::vector<runtime::Task> callers;
    for (int i = 0; i < 20; ++i)
        callers.push_back(runtime::spawn("caller", [&] {
            const auto found = verdicts.all();
            EXPECT_TRUE(found && (*found)->counts[0] == 1'000);
        }));
    time.pass_ms(100);
    for (runtime::Task& caller : callers)
        EXPECT_TRUE(runtime::testing::ok(caller.join(runtime::Deadline::in_ms(1'000))));
    EXPECT_EQ(verdicts.passes(), 1u);
    time.pass_ms(3'000);
    EXPECT_TRUE(verdicts.all());
    EXPECT_EQ(verdicts.passes(), 2u) << "the old one was two seconds old";
}

}  // namespace
}  // namespace service::api
