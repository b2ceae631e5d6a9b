#include "live/hub/publisher_limits.h"

#include <gtest/gtest.h>

#include "live/hub/input_faults.h"
#include "live/hub/leases.h"
#include "live/hub/owner_testing.h"
#include "live/hub/stream.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace live {
namespace {

config::VhostPublish settings(int kickoff_for_idle = 0) {
    config::VhostPublish publish;
    publish.firstpkt_timeout = 2'000;
    publish.normal_timeout = 500;
    publish.kickoff_for_idle = kickoff_for_idle;
    return publish;
}

std::string text_at(const PublisherLimits& limits, int64_t now_us, const Stream* stream = nullptr) {
    const auto passed = limits.passed(now_us, stream, nullptr);
    return passed ? passed->text : "";
}

TEST(PublisherLimits, TheFirstMediaHasMoreTime) {
    PublisherLimits limits(settings(), 1'000);
    limits.on_input(1'500'000);
    EXPECT_EQ(text_at(limits, 2'000'999), "");
    EXPECT_EQ(text_at(limits, 2'001'000), "no usable audio or video within 2000 ms of its start (firstpkt_timeout)")
        << "what is no media does not count";
    limits.on_media(2'000'000);
    EXPECT_EQ(text_at(limits, 2'499'999), "");
    EXPECT_EQ(text_at(limits, 2'500'000), "no usable audio or video for 500 ms (normal_timeout)");
    EXPECT_EQ(limits.silent_at().at_us(), 2'500'000);
    limits.on_input(2'400'000);
    EXPECT_EQ(limits.silent_at().at_us(), 2'900'000) << "a sign of life";
}

TEST(PublisherLimits, TheTextSaysWhatWasDropped) {
    InputFaults faults("a publisher");
    const PublisherLimits limits(settings(), 0);
    EXPECT_EQ(limits.silence_text(&faults).find("dropped"), std::string::npos);
    faults.add(InputFaults::kVideo, "no length prefix");
    EXPECT_TRUE(limits.silence_text(&faults).ends_with("; 1 messages were dropped, the last one: no length prefix"));
}

class PublisherLimitsTest : public runtime::testing::RuntimeTest {};

TEST_F(PublisherLimitsTest, AStreamWithoutPlayersEndsWhereThatIsConfigured) {
    runtime::testing::SimulatedTime time;
    auto stream = base::make_ref<Stream>(nullptr, StreamKey{"v", "live", "s"}, LiveOptions{});
    testing::Owner owner;
    const auto publication = stream->acquire(owner, false);
    ASSERT_TRUE(publication);
    PublisherLimits limits(settings(3), runtime::now_us());
    const auto text = [&] {
        limits.on_media(runtime::now_us());
        return text_at(limits, runtime::now_us(), stream.get());
    };
    time.pass_ms(2'999);
    EXPECT_EQ(text(), "");
    PlayerLease player(stream);
    time.pass_ms(60'000);
    EXPECT_EQ(text(), "");
    player.end();
    time.pass_ms(3'000);
    EXPECT_EQ(text(), "no viewer for 3 s (kickoff_for_idle)");
    EXPECT_EQ(text_at(limits, runtime::now_us()), "") << "a camera is no client";
}

}  // namespace
}  // namespace live
