#include "service/api/diagnosis/output_failures.h"

#include <gtest/gtest.h>

#include "runtime/loop/clock.h"

namespace service::api {
namespace {

using Key = live::StreamKey;

live::OutputFailed failed(const std::string& name, const char* output, const char* reason) {
    return {{"v", "live", name}, output, {}, reason};
}

TEST(OutputFailures, LastUntilTheOutputWorks) {
    live::Events events;
    const OutputFailures failures(events);
    const Key key{"v", "live", "a"};
    events.notify(failed("a", "hls", "a playlist of another stream"));
    events.notify(failed("a", "dvr", "no space"));
    events.notify(failed("b", "dvr", "no space"));
    const auto found = failures.of(key, 0);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].output + ": " + found[0].problem, "dvr: no space");
    EXPECT_EQ(found[1].output + ": " + found[1].problem, "hls: a playlist of another stream");
    live::SegmentDone segment;
    segment.stream = key;
    events.notify(segment);
    ASSERT_EQ(failures.of(key, 0).size(), 1u) << "there is a segment";
    live::RecordingDone recording;
    recording.stream = key;
    recording.whole = false;
    events.notify(recording);
    ASSERT_EQ(failures.of(key, 0).size(), 1u) << "the file ends where the failure cut it off";
    recording.whole = true;
    events.notify(recording);
    EXPECT_TRUE(failures.of(key, 0).empty());
    const Key b{"v", "live", "b"};
    EXPECT_EQ(failures.of(b, 0).size(), 1u);
    events.notify(live::OutputRecovered{b, "dvr"});
    EXPECT_TRUE(failures.of(b, 0).empty());
}

TEST(OutputFailures, OfAnEarlierPublicationAreOver) {
    live::Events events;
    const OutputFailures failures(events);
    events.notify(failed("a", "hls", "x"));
    EXPECT_EQ(failures.of({"v", "live", "a"}, runtime::now_ms()).size(), 1u) << "at the moment of its beginning";
    EXPECT_TRUE(failures.of({"v", "live", "a"}, runtime::now_ms() + 1).empty());
}

TEST(OutputFailures, AreBounded) {
    live::Events events;
    const OutputFailures failures(events);
    for (size_t i = 0; i <= OutputFailures::kMaxStreams; ++i) events.notify(failed(std::to_string(i), "hls", "x"));
    size_t known = 0;
    for (size_t i = 0; i <= OutputFailures::kMaxStreams; ++i)
        known += failures.of({"v", "live", std::to_string(i)}, 0).size();
    EXPECT_EQ(known, OutputFailures::kMaxStreams);
    EXPECT_EQ(failures.of({"v", "live", std::to_string(OutputFailures::kMaxStreams)}, 0).size(), 1u) << "the newest";
}

}  // namespace
}  // namespace service::api
