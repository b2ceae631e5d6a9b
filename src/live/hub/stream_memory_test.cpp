// How a stream counts its memory, and what it does at its limit.

#include "live/hub/stream_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "live/fanout/live_log.h"
#include "live/fanout/socket_testing.h"
#include "live/fanout/viewer.h"
#include "live/hub/owner_testing.h"
#include "live/hub/registry.h"
#include "live/hub/stream.h"
#include "live/hub/testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace live {
namespace {

using testing::audio;
using testing::FakeSocket;
using testing::header;
using testing::Owner;
using testing::video;
using testing::Wire;

constexpr size_t kMb = 1 << 20;

struct Watcher final : ViewerHandler {
    explicit Watcher(base::Ref<Stream> stream) : viewer(*this, std::move(stream)) {}
    void on_viewer_input(Viewer&, std::span<const uint8_t>) override {}
    void on_stream_end(Viewer&) override {}
    void on_viewer_end(Viewer& v, std::string_view text) override {
        why = text;
        reason = v.close_reason();
    }
    void join(size_t room) {
        wire->room = room;
        wire->keep = 100;
        viewer.join(testing::kAllText, std::make_unique<FakeSocket>(wire), {});
    }
    std::shared_ptr<Wire> wire = std::make_shared<Wire>();
    std::string why;
    base::CloseReason reason = base::CloseReason::kUnknown;
    Viewer viewer;
};

struct Keeper : FrameSink {
    void on_tracks(const base::Ref<media::TrackSet>&) override {}
    void on_frame(const media::Frame& frame) override { frames.push_back(frame); }
    size_t memory() const override {
        size_t bytes = 0;
        for (const media::Frame& frame : frames) bytes += memory_of(frame);
        return bytes;
    }
    void release_memory() override {
        ++released;
        frames.clear();
    }
    std::vector<media::Frame> frames;
    int released = 0;
};

struct Left : MemoryHolder {
    size_t memory() const override { return bytes; }
    void release_memory() override { bytes = 0; }
    size_t bytes = 0;
};

class StreamMemoryTest : public runtime::testing::RuntimeTest {
  protected:
    void start(size_t limit_mb = 16) {
        options.memory_limit = limit_mb * kMb;
        options.send_timeout_ms = 0;
        stream = registry.find_or_create({"v", "live", "s"}, options);
        publication = std::move(*stream->acquire(owner, false));
        publication.publish(header(media::Kind::kVideo, "VH"));
    }
    void TearDown() override {
        publication.end();
        if (stream) stream->end_viewers();
        time.pass_ms(1000);
        stream.reset();
        time.settle();
        EXPECT_EQ(registry.size(), 0u);
        EXPECT_EQ(registry.memory(), 0u);
        registry.stop();
    }
    static std::string large(size_t bytes) { return std::string(bytes, 'x'); }

    runtime::testing::SimulatedTime time;
    LiveOptions options;
    Registry registry;
    Owner owner;
    base::Ref<Stream> stream;
    Publication publication;
};

TEST_F(StreamMemoryTest, APartOfALargeAllocationIsCountedByItsOwnSize) {
    start();
    const base::Slice aggregate = base::Slice::copy(large(4 * kMb));
    EXPECT_GE(aggregate.sub(100, 10).memory(), 4 * kMb) << "a part keeps the whole";
    publication.publish(video(0, true));
    for (int64_t i = 1; i <= 100; ++i) {
        media::Frame frame = video(i * 40);
        frame.payload = base::Slice::copy(large(4 * kMb)).sub(i, 100);
        publication.publish(frame);
    }
    EXPECT_EQ(stream->gop().size(), 101u);
    for (const media::Frame& frame : stream->gop()) EXPECT_LE(frame.payload.memory(), 16 * 1024u);
    EXPECT_LT(stream->memory().gop, 1 * kMb);
    EXPECT_EQ(stream->gop().back().payload.text(), large(100));
    // A payload that fills most of its allocation is not copied.
    media::Frame whole = video(5000);
    whole.payload = aggregate.sub(10, 3 * kMb);
    publication.publish(whole);
    EXPECT_TRUE(stream->gop().back().payload.shares_memory(aggregate));
    EXPECT_GE(stream->memory().gop, 4 * kMb) << "and all of it is counted";
}

TEST_F(StreamMemoryTest, EachHolderIsCounted) {
    start(256);
    publication.publish(video(0, true, large(kMb)));
    Keeper keeper;
    stream->subscribe(keeper);
    Watcher fast(stream);
    fast.join(SIZE_MAX);
    publication.publish(video(40, false, large(kMb)));
    const StreamMemory held = stream->memory();
    EXPECT_NEAR(held.gop, 2 * kMb, kMb / 10);
    EXPECT_NEAR(held.logs, kMb, kMb / 10) << "the first frame was sent when it joined";
    EXPECT_NEAR(held.outputs, 2 * kMb, kMb / 10);
    EXPECT_EQ(held.mix_queue + held.viewers + held.rtp, 0u);
    EXPECT_EQ(held.total(), held.gop + held.logs + held.outputs);
    stream->unsubscribe(keeper);
    EXPECT_EQ(stream->memory().outputs, 0u);
}

TEST_F(StreamMemoryTest, OnlyAViewerThatIsBehindJumps) {
    options.merge_ms = 0;
    start(16);
    Watcher fast(stream), slow(stream);
    fast.join(SIZE_MAX);
    slow.join(1000);
    size_t max_total = 0;
    for (int64_t i = 0; i < 100; ++i) {
        publication.publish(video(i * 40, i % 4 == 0, large(500'000)));
        max_total = std::max(max_total, stream->memory().total());
        time.pass_ms(2);
    }
    EXPECT_LE(max_total, 18 * kMb);
    time.pass_ms(60);
    EXPECT_GT(slow.viewer.counters().jumps, 0u);
    EXPECT_EQ(fast.viewer.counters().jumps, 0u);
    EXPECT_GT(fast.viewer.counters().sent_bytes, 100 * size_t{500'000});
    EXPECT_GT(stream->counters().memory_releases, 0u);
    EXPECT_TRUE(owner.revoked.empty());
}

TEST_F(StreamMemoryTest, TheGopCacheGoesUntilTheNextKeyframe) {
    start(16);
    publication.publish(video(0, true, large(kMb)));
    for (int64_t i = 1; i < 40; ++i) {
        publication.publish(video(i * 40, false, large(kMb)));
        EXPECT_LE(stream->memory().total(), 17 * kMb);
    }
    EXPECT_TRUE(stream->gop().empty());
    EXPECT_TRUE(stream->gop_too_long());
    EXPECT_TRUE(owner.revoked.empty());
    publication.publish(video(2000, true, large(kMb)));
    EXPECT_EQ(stream->gop().size(), 1u);
}

TEST_F(StreamMemoryTest, SinksReleaseMemoryBeforeThePublisherIsClosed) {
    start(16);
    Keeper keeper;
    stream->subscribe(keeper);
    for (int64_t i = 0; i < 60; ++i) publication.publish(video(i * 40, true, large(kMb)));
    EXPECT_GT(keeper.released, 0);
    EXPECT_LE(stream->memory().total(), 17 * kMb);
    stream->tick(0);
    EXPECT_TRUE(owner.revoked.empty());
    stream->unsubscribe(keeper);
}

// A viewer is in the middle of a packet that exceeds the stream's limit.
TEST_F(StreamMemoryTest, APublisherBeyondTheLimitIsClosed) {
    start(4);
    Watcher slow(stream);
    slow.join(100);
    publication.publish(video(0, true, large(6 * kMb)));
    const size_t held = stream->memory().total();
    for (int64_t i = 1; i < 20; ++i) publication.publish(video(i * 40, true, large(6 * kMb)));
    EXPECT_LE(stream->memory().total(), held) << "its frames are dropped until it is closed";
    EXPECT_TRUE(stream->needs_tick());
    stream->tick(0);
    EXPECT_NE(owner.revoked.find("4 MB"), std::string::npos) << owner.revoked;
    EXPECT_EQ(owner.reason, base::CloseReason::kFlood);
    EXPECT_FALSE(stream->published());
    // Its name is free.
    Owner next;
    publication = std::move(*stream->acquire(next, false));
    publication.publish(video(0, true, "small"));
    EXPECT_EQ(stream->counters().video_frames, 2u);
    publication.end();
}

// Each slow viewer that jumps keeps the rest of a packet.
TEST_F(StreamMemoryTest, CopiesForViewersThatJumpAreBounded) {
    start(16);
    std::vector<std::unique_ptr<Watcher>> watchers;
    publication.publish(video(0, true, large(kMb)));
    for (int i = 0; i < 10; ++i) {
        watchers.push_back(std::make_unique<Watcher>(stream));
        watchers.back()->join(1000);
    }
    for (auto& watcher : watchers) watcher->viewer.set_paused(true);
    EXPECT_NEAR(stream->memory().viewers, 4 * kMb, kMb);
    time.pass_ms(10);
    size_t ended = 0;
    for (auto& watcher : watchers) ended += watcher->reason == base::CloseReason::kTooSlow;
    EXPECT_EQ(ended, 6u);
    for (auto& watcher : watchers) watcher->wire->make_room(SIZE_MAX);
    EXPECT_EQ(stream->memory().viewers, 0u);
    watchers.clear();
}

TEST_F(StreamMemoryTest, TheMixQueueReleasesByTheClockToo) {
    options.mix_correct = true;
    start(256);
    Keeper keeper;
    stream->subscribe(keeper);
    publication.publish(audio(0));
    publication.publish(video(0, true, large(kMb)));
    publication.publish(video(40, false, large(kMb)));
    EXPECT_NEAR(stream->memory().mix_queue, kMb, kMb / 10) << "it waits for audio";
    EXPECT_TRUE(stream->needs_tick());
    registry.start();
    time.pass_ms(2000);
    EXPECT_EQ(stream->memory().mix_queue, 0u) << "released by the clock, without another frame";
    EXPECT_EQ(media::to_ms(keeper.frames.back().dts), 40);
    stream->unsubscribe(keeper);
}

// ---- All streams together

TEST_F(StreamMemoryTest, TheLargestStreamReleasesMemoryFirst) {
    start(64);
    registry.set_memory_limit(24 * kMb);
    Owner other_owner;
    auto other = registry.find_or_create({"v", "live", "other"}, options);
    auto small = std::move(*other->acquire(other_owner, false));
    for (int64_t i = 0; i < 5; ++i) small.publish(video(i * 40, i == 0, large(kMb)));
    Left left;
    left.bytes = 2 * kMb;
    registry.add_holder(left);
    for (int64_t i = 0; i < 22; ++i) publication.publish(video(i * 40, i == 0, large(kMb)));
    EXPECT_GT(registry.memory(), 24 * kMb);
    registry.start();
    time.pass_ms(2000);
    EXPECT_LE(registry.memory(), 18 * kMb);
    EXPECT_EQ(left.bytes, 0u);
    EXPECT_TRUE(stream->gop().empty());
    EXPECT_EQ(other->gop().size(), 5u) << "the smaller stream is left alone";
    EXPECT_TRUE(owner.revoked.empty() && other_owner.revoked.empty());
    registry.remove_holder(left);
    small.end();
}

TEST_F(StreamMemoryTest, WhatAnotherProcessHasCountsForTheLimit) {
    start(64);
    registry.set_memory_limit(24 * kMb);
    for (int64_t i = 0; i < 16; ++i) publication.publish(video(i * 40, i == 0, large(kMb)));
    registry.start();
    time.pass_ms(2000);
    EXPECT_EQ(stream->gop().size(), 16u);
    registry.set_memory_elsewhere(10 * kMb);
    time.pass_ms(2000);
    EXPECT_TRUE(stream->gop().empty());
    registry.set_memory_elsewhere(100 * kMb);
    time.pass_ms(2000);
    EXPECT_EQ(registry.memory_limit(), 24 * kMb);
}

TEST_F(StreamMemoryTest, TheLargestPublisherIsClosedWhenNothingCanBeReleased) {
    start(64);
    registry.set_memory_limit(4 * kMb);
    Owner other_owner;
    auto other = registry.find_or_create({"v", "live", "other"}, options);
    auto small = std::move(*other->acquire(other_owner, false));
    small.publish(video(0, true, large(kMb)));
    Watcher slow(stream);
    slow.join(100);
    publication.publish(video(0, true, large(8 * kMb)));
    registry.start();
    time.pass_ms(2000);
    EXPECT_NE(owner.revoked.find("total_stream_memory"), std::string::npos) << owner.revoked;
    // Its viewer holds the frame that exceeded the limit, and is closed too; the other stream stays.
    EXPECT_LE(registry.memory(), 4 * kMb);
    EXPECT_TRUE(other_owner.revoked.empty());
    small.end();
}

TEST_F(StreamMemoryTest, AsManyPublishersAreClosedAtOnceAsTheExcessTakes) {
    start(64);
    registry.set_memory_limit(8 * kMb);
    std::array<Owner, 4> owners;
    std::vector<base::Ref<Stream>> streams;
    std::vector<Publication> publications;
    std::vector<std::unique_ptr<Watcher>> slow;
    for (size_t i = 0; i < owners.size(); ++i) {
        streams.push_back(registry.find_or_create({"v", "live", std::to_string(i)}, options));
        publications.push_back(std::move(*streams[i]->acquire(owners[i], false)));
        slow.push_back(std::make_unique<Watcher>(streams[i]));
        slow[i]->join(100);
        publications[i].publish(video(0, true, large(2 * (i + 1) * kMb)));
    }
    registry.start();
    for (int i = 0; i < 200 && owners[3].revoked.empty(); ++i) time.pass_ms(10);
    // 2, 4, 6 and 8 MB are held: without the two largest ones the limit is kept.
    EXPECT_TRUE(owners[0].revoked.empty()) << owners[0].revoked;
    EXPECT_TRUE(owners[1].revoked.empty()) << owners[1].revoked;
    EXPECT_FALSE(owners[2].revoked.empty());
    EXPECT_FALSE(owners[3].revoked.empty());
    for (Publication& publication : publications) publication.end();
}

}  // namespace
}  // namespace live
