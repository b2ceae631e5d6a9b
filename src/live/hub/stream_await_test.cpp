// Coroutines that wait for a stream, in simulated time.

#include <gtest/gtest.h>

#include <optional>

#include "live/hub/leases.h"
#include "live/hub/owner_testing.h"
#include "live/hub/testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace live {
namespace {

using testing::audio;
using testing::header;
using testing::Owner;
using testing::video;

class StreamAwaitTest : public runtime::testing::RuntimeTest {
  protected:
    // What becomes of a wait of 5 s: "waits", "there", or the error's text.
    struct Wait {
        Wait(Stream& stream, Awaited what, std::function<bool()> may_wait = {})
            : task(runtime::spawn("a player", [this, &stream, what, may_wait = std::move(may_wait)] {
                  auto waited = stream.await(what, runtime::Deadline::in_ms(5'000), {nullptr, may_wait});
                  result = waited ? "there" : waited.error().text();
              })) {}
        ~Wait() { task.cancel_and_join(); }
        Wait(const Wait&) = delete;
        std::string result = "waits";
        runtime::Task task;
    };
    Publication begin() { return *stream_->acquire(owner_, false); }

    runtime::testing::SimulatedTime time_;
    base::Ref<Stream> stream_ = base::make_ref<Stream>(nullptr, StreamKey{"v", "live", "s"}, LiveOptions{});
    Owner owner_;
};

TEST_F(StreamAwaitTest, APublisherEndsTheWait) {
    Wait one(*stream_, Awaited::kPublished), other(*stream_, Awaited::kPublished);
    time_.pass_ms(4'000);
    EXPECT_EQ(one.result, "waits");
    auto publication = begin();
    time_.settle();
    EXPECT_EQ(one.result, "there");
    EXPECT_EQ(other.result, "there");
    Wait late(*stream_, Awaited::kPublished);
    time_.settle();
    EXPECT_EQ(late.result, "there");
}

TEST_F(StreamAwaitTest, TheTimeIsLimited) {
    Wait publisher(*stream_, Awaited::kPublished);
    time_.pass_ms(4'999);
    EXPECT_EQ(publisher.result, "waits");
    time_.pass_ms(1);
    EXPECT_EQ(publisher.result, "the stream is not published");
    auto publication = begin();
    Wait tracks(*stream_, Awaited::kTracks);
    time_.pass_ms(5'000);
    EXPECT_EQ(tracks.result, "the stream's tracks are not known: no headers or keyframes arrive");
}

TEST_F(StreamAwaitTest, ItEndsWhereThereIsNothingToWaitForAnyMore) {
    bool is_fetched = true;
    Wait wait(*stream_, Awaited::kPublished, [&] { return is_fetched; });
    stream_->wake_waiting();
    time_.settle();
    EXPECT_EQ(wait.result, "waits");
    is_fetched = false;
    stream_->wake_waiting();
    time_.settle();
    EXPECT_EQ(wait.result, "the stream is not published");
}

TEST_F(StreamAwaitTest, TracksAreKnownWithTheirHeaders) {
    Wait wait(*stream_, Awaited::kTracks);
    auto publication = begin();
    publication.publish(video(0, true));
    time_.settle();
    EXPECT_EQ(wait.result, "waits") << "H.264 needs its header";
    publication.publish(header(media::Kind::kVideo, "V"));
    time_.settle();
    EXPECT_EQ(wait.result, "waits") << "audio may come";
    publication.publish(header(media::Kind::kAudio, "A"));
    time_.settle();
    EXPECT_EQ(wait.result, "there");
}

TEST_F(StreamAwaitTest, ATrackThatDoesNotComeIsAwaitedForAWhile) {
    auto publication = begin();
    publication.publish(header(media::Kind::kAudio, "A"));
    Wait wait(*stream_, Awaited::kTracks);
    time_.pass_ms(699);
    EXPECT_EQ(wait.result, "waits");
    time_.pass_ms(1);
    EXPECT_EQ(wait.result, "there");
    for (int64_t ms = 0; ms < 30; ++ms) publication.publish(audio(ms));
    Wait settled(*stream_, Awaited::kTracks);
    time_.settle();
    EXPECT_EQ(settled.result, "there") << "so many frames came without video";
    // Those of the publication before say nothing of the next.
    publication.end();
    publication = begin();
    publication.publish(header(media::Kind::kAudio, "A"));
    Wait next(*stream_, Awaited::kTracks);
    time_.settle();
    EXPECT_EQ(next.result, "waits");
}

TEST_F(StreamAwaitTest, FramesAreWantedForTheTracks) {
    std::optional<Wait> wait(std::in_place, *stream_, Awaited::kTracks);
    time_.settle();
    EXPECT_TRUE(stream_->frames_wanted());
    EXPECT_EQ(stream_->demand(), 0u) << "a server that the stream is passed on to may wait, too";
    wait.reset();
    EXPECT_FALSE(stream_->frames_wanted());
}

TEST_F(StreamAwaitTest, TheWaitCanBeCancelled) {
    Wait wait(*stream_, Awaited::kPublished);
    time_.settle();
    wait.task.cancel();
    time_.settle();
    EXPECT_NE(wait.result, "waits");
}

}  // namespace
}  // namespace live
