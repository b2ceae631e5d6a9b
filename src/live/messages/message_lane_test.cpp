#include "live/messages/message_lane.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "live/hub/owner_testing.h"
#include "live/hub/registry.h"
#include "live/hub/testing.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace live {
namespace {

using testing::audio;
using testing::video;

// Keyframes need nothing before them.
class InlineEncoder final : public testing::TextEncoder {
  public:
    explicit InlineEncoder(const LogKey& key) : TextEncoder(key) {}
    void encode_prefix(const media::TrackSet&, media::Time, bool, base::SliceBuilder&) override {}
    static std::unique_ptr<WireEncoder> make(const LogKey& key) { return std::make_unique<InlineEncoder>(key); }
};
const WireFormat kFormat{"inline", InlineEncoder::make};
const LogKey kKey{&kFormat, {}};

struct Sink final : MessageSink {
    explicit Sink(Stream& of) : lane(of.message_lane(kKey)) { lane.join(*this, 0); }
    ~Sink() { leave(); }
    void leave() {
        if (joined) lane.leave(*this);
        joined = false;
    }
    bool on_packets(int64_t) override {
        const MessageRing& ring = lane.ring();
        if (!begun && !lane.start()) return false;
        if (!begun) next = *lane.start();
        begun = true;
        if (next == ring.end()) return false;
        called_ms.push_back(runtime::now_ms());
        for (; next < ring.end(); ++next) seen += "{" + std::string(ring.at(next).bytes.text()) + "}";
        return false;
    }
    void prefetch_needs() const override {}
    void on_stream_end() override {
        ended = true;
        leave();
    }

    MessageLane& lane;
    bool joined = true, begun = false, ended = false;
    uint64_t next = 0;
    std::string seen;
    std::vector<int64_t> called_ms;
};

class MessageLaneTest : public runtime::testing::RuntimeTest {
  protected:
    void begin(LiveOptions options = {}) {
        stream_ = registry_.find_or_create({"v", "live", "one"}, options);
        publication_ = *stream_->acquire(owner_, false);
        publication_.publish(testing::header(media::Kind::kVideo, "avcC"));
        publication_.publish(testing::header(media::Kind::kAudio, "asc"));
    }

    runtime::testing::SimulatedTime time_;
    Registry registry_;
    testing::Owner owner_;
    base::Ref<Stream> stream_;
    Publication publication_;
};

TEST_F(MessageLaneTest, APlayerBeginsAtTheKeyframeAndGetsEachFrameAtOnce) {
    begin({.merge_ms = 0});
    publication_.publish(video(0, true, "K"));
    publication_.publish(video(40, false, "p"));
    Sink sink(*stream_);
    EXPECT_EQ(stream_->demand(), 1u);
    EXPECT_EQ(stream_->viewer_count(), 1u);
    time_.pass_ms(20);
    EXPECT_EQ(sink.seen, "{[0 K][40 p]}");
    publication_.publish(video(80, false, "q"));
    time_.pass_ms(20);
    EXPECT_EQ(sink.seen, "{[0 K][40 p]}{[80 q]}");
}

TEST_F(MessageLaneTest, FramesOfAMergeIntervalShareMessages) {
    begin({.merge_ms = 200});
    publication_.publish(video(0, true, "K"));
    Sink sink(*stream_);
    time_.pass_ms(400);
    const size_t calls = sink.called_ms.size();
    for (int64_t ms = 40; ms <= 1000; ms += 40) {
        publication_.publish(video(ms, false, "p"));
        publication_.publish(audio(ms, "a"));
        time_.pass_ms(40);
    }
    time_.pass_ms(200);
    EXPECT_LE(sink.called_ms.size() - calls, 7u) << "a call for each 200 ms";
    EXPECT_GE(sink.called_ms.size() - calls, 4u);
    EXPECT_NE(sink.seen.find("[40 p][40 a][80 p]"), std::string::npos) << sink.seen;
    EXPECT_TRUE(sink.seen.ends_with("[1000 p][1000 a]}")) << sink.seen;
}

TEST_F(MessageLaneTest, WithoutPlayersNothingIsEncodedOrKept) {
    begin();
    publication_.publish(video(0, true, "K"));
    MessageLane& lane = stream_->message_lane(kKey);
    EXPECT_EQ(lane.memory(), 0u);
    {
        Sink sink(*stream_);
        EXPECT_GT(lane.memory(), 0u);
        EXPECT_GT(stream_->memory().outputs, 0u);
    }
    EXPECT_EQ(lane.memory(), 0u);
    EXPECT_EQ(stream_->demand(), 0u);
    EXPECT_FALSE(stream_->frames_wanted());
    publication_.publish(video(40, true, "L"));
    Sink again(*stream_);
    time_.pass_ms(500);
    EXPECT_EQ(again.seen, "{[40 L]}") << "another one begins with what the stream has then";
}

TEST_F(MessageLaneTest, PlayersWaitForTheNextPublisherAndEndWithoutOne) {
    begin({.merge_ms = 0, .rejoin_timeout_ms = 1'000});
    publication_.publish(video(0, true, "K"));
    Sink sink(*stream_);
    time_.pass_ms(20);
    publication_.end();
    Sink late(*stream_);
    time_.pass_ms(20);
    EXPECT_EQ(late.seen, "") << "it does not begin with the old publisher's frames";
    publication_ = *stream_->acquire(owner_, false);
    publication_.publish(testing::header(media::Kind::kVideo, "avcC"));
    publication_.publish(video(0, true, "N"));
    time_.pass_ms(20);
    EXPECT_TRUE(late.seen.ends_with(" N]}")) << late.seen;
    EXPECT_TRUE(sink.seen.ends_with(" N]}")) << sink.seen;
    publication_.end();
    EXPECT_FALSE(sink.ended);
    registry_.start();
    time_.pass_ms(3'000);
    EXPECT_TRUE(sink.ended);
    EXPECT_TRUE(late.ended);
}

}  // namespace
}  // namespace live
