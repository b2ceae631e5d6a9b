// The waiting publishers of a stream, with time handed in by SimulatedTime.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "live/hub/owner_testing.h"
#include "live/hub/registry.h"
#include "live/hub/testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace live {
namespace {

using testing::audio;
using testing::header;
using testing::metadata;
using testing::video;

constexpr int64_t kFrozenMs = 1'000;

// A publisher of 25 frames a second, of which each 25th is a keyframe. Its frames are named after it.
struct Encoder : testing::Owner {
    explicit Encoder(std::string name_, std::string params_ = "", StandbyMode mode = StandbyMode::kOn)
        : name(std::move(name_)), params(std::move(params_)) {
        options.mode = mode;
        options.timeout_ms = kFrozenMs;
        options.max = 2;
    }
    PublisherFacts facts() const override { return {.session_id = name, .ip = "192.0.2.1", .params = params}; }
    StandbyOptions standby() const override { return options; }
    void publication_waits() override { events.push_back("waits"); }
    void publication_activated() override { events.push_back("in force"); }
    void standby_keyframe_wanted() override { ++keyframes_wanted; }

    void send_headers() { publication.publish(header(media::Kind::kVideo, name + " header")); }
    void send() {
        publication.publish(video(frames * 40 + first_ms, frames % 25 == 0, name + std::to_string(frames)));
        ++frames;
    }

    std::string name, params;
    StandbyOptions options;
    std::vector<std::string> events;
    int keyframes_wanted = 0;
    int64_t first_ms = 0, frames = 0;
    Publication publication;
};

struct Sink : FrameSink {
    void on_tracks(const base::Ref<media::TrackSet>& tracks) override {
        if (const media::Frame* config = tracks->config(media::Kind::kVideo)) header = config->payload.text();
    }
    void on_frame(const media::Frame& frame) override {
        const std::string text(frame.payload.text());
        if (text[0] != (seen.empty() ? ' ' : seen.back()[0])) {
            seen.push_back(text);
            EXPECT_TRUE(frame.kind != media::Kind::kVideo || frame.keyframe) << text;
            EXPECT_EQ(header, text.substr(0, 1) + " header");
        }
        EXPECT_GE(frame.dts, last) << "times go on";
        last = frame.dts;
        ++count;
    }
    std::string header;
    std::vector<std::string> seen;  // the first frame after each change of the publisher
    media::Time last{};
    int count = 0;
};

struct Changes : StreamWatcher {
    void stream_published(Stream&) override {}
    void standby_changed(Stream&, const StandbyChange& change) override {
        changes.push_back(change.publisher.session_id + (change.is_active ? " active " : " waits ") +
                          std::string(standby_reason_name(change.reason)) + " " + change.other);
    }
    std::vector<std::string> changes;
};

class StreamStandbyTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        registry.watch(watcher);
        registry.start();
        stream = registry.find_or_create({"v", "live", "s"}, options);
        stream->subscribe(sink);
    }
    void TearDown() override {
        for (Encoder* encoder : {&a, &b, &c}) encoder->publication.end();
        EXPECT_EQ(registry.standbys(), 0u);
        stream->unsubscribe(sink);
        stream.reset();
        registry.stop();
        registry.unwatch(watcher);
    }
    bool join(Encoder& encoder) {
        auto acquired = stream->acquire(encoder, false);
        if (!acquired) return false;
        encoder.publication = std::move(*acquired);
        encoder.send_headers();
        return true;
    }
    void run(int64_t ms, std::vector<Encoder*> senders) {
        for (int64_t passed = 0; passed < ms; passed += 40) {
            for (Encoder* sender : senders) sender->send();
            time.pass_ms(40);
        }
    }
    std::string active() const { return stream->publisher() ? stream->publisher()->facts().session_id : "none"; }

    runtime::testing::SimulatedTime time;
    LiveOptions options;
    Registry registry;
    Changes watcher;
    base::Ref<Stream> stream;
    Sink sink;
    Encoder a{"a"}, b{"b"}, c{"c"};
};

using Texts = std::vector<std::string>;

TEST_F(StreamStandbyTest, WithoutTheDirectiveASecondPublisherIsRefused) {
    ASSERT_TRUE(join(a));
    b.options.mode = StandbyMode::kOff;
    EXPECT_FALSE(join(b));
    EXPECT_EQ(stream->check_free(false).error().code(), base::Code::kBusy);
    EXPECT_EQ(stream->standby(), nullptr);
}

TEST_F(StreamStandbyTest, TakesOverAtTheNextKeyframeWhenTheFirstOneEnds) {
    ASSERT_TRUE(join(a));
    ASSERT_TRUE(join(b));
    EXPECT_TRUE(b.publication.waits());
    EXPECT_FALSE(a.publication.waits());
    EXPECT_EQ(registry.standbys(), 1u);
    run(500, {&a, &b});
    EXPECT_EQ(sink.count, 13) << "of the active one alone";
    a.publication.end();
    EXPECT_EQ(active(), "none");
    EXPECT_TRUE(stream->awaits_standby(runtime::now_ms()));
    const media::Time last = sink.last;
    run(440, {&b});
    EXPECT_EQ(active(), "none") << "its keyframe comes after 25 frames, it has sent " << b.frames;
    run(120, {&b});
    EXPECT_EQ(active(), "b");
    EXPECT_FALSE(b.publication.waits());
    EXPECT_EQ(sink.seen, (Texts{"a0", "b25"}));
    EXPECT_EQ(sink.last - last, media::from_ms(80)) << "the timeline goes on without a gap";
    EXPECT_EQ(b.events, Texts{"in force"});
    EXPECT_EQ(watcher.changes, (Texts{"b waits busy a", "b active left "}));
    EXPECT_EQ(registry.standby_counters().takeovers[static_cast<size_t>(StandbyReason::kLeft)], 1u);
    EXPECT_EQ(stream->standby(), nullptr);
}

TEST_F(StreamStandbyTest, TakesOverFromAFrozenOneWhichWaitsThen) {
    ASSERT_TRUE(join(a));
    ASSERT_TRUE(join(b));
    b.frames = 10;
    run(1'000, {&a, &b});
    run(kFrozenMs - 200, {&b});
    EXPECT_EQ(active(), "a");
    run(1'400, {&b});
    EXPECT_EQ(active(), "b");
    EXPECT_EQ(a.events, Texts{"waits"});
    EXPECT_TRUE(a.revoked.empty()) << a.revoked;
    EXPECT_TRUE(a.publication.waits());
    EXPECT_EQ(watcher.changes, (Texts{"b waits busy a", "a waits frozen b", "b active frozen a"}));
    run(2'000, {&a, &b});
    EXPECT_EQ(active(), "b") << "the one that is back waits";
    const int frames = sink.count;
    run(400, {&a, &b});
    EXPECT_EQ(sink.count, frames + 10);
    b.publication.end();
    run(1'000, {&a});
    EXPECT_EQ(active(), "a") << "and takes over again";
}

TEST_F(StreamStandbyTest, AHigherPriorityIsTheNextAndPreemptsWhereThatIsAllowed) {
    c.params = "?priority=3";
    ASSERT_TRUE(join(a) && join(b) && join(c));
    run(2'000, {&a, &b, &c});
    EXPECT_EQ(active(), "a") << "standby on";
    a.publication.end();
    run(1'000, {&b, &c});
    EXPECT_EQ(active(), "c");
    Encoder d("d", "?priority=4", StandbyMode::kPreempt);
    ASSERT_TRUE(join(d));
    run(kFrozenMs - 40, {&b, &c, &d});
    EXPECT_EQ(active(), "c") << "it has to send for standby_timeout";
    run(1'200, {&b, &c, &d});
    EXPECT_EQ(active(), "d");
    EXPECT_TRUE(c.publication.waits());
    EXPECT_EQ(sink.seen.back(), "d25");
    d.publication.end();
    run(1'000, {&b, &c});
    EXPECT_EQ(active(), "c") << "b has a lower priority";
}

TEST_F(StreamStandbyTest, OnlySomeMayWait) {
    ASSERT_TRUE(join(a) && join(b) && join(c));
    Encoder d("d");
    auto refused = stream->acquire(d, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kBusy);
    EXPECT_NE(refused.error().text().find("2 publishers wait"), std::string::npos) << refused.error().text();
    EXPECT_FALSE(stream->check_free(false, d.options));
    EXPECT_EQ(registry.standby_counters().refused, 2u);
    b.publication.end();
    EXPECT_TRUE(join(d));
    d.publication.end();
}

TEST_F(StreamStandbyTest, GarbageOfAStandbyHurtsNobody) {
    ASSERT_TRUE(join(a) && join(b));
    b.publication.publish(metadata(std::string(StandbyQueue::kMaxHeaderBytes, 'x')));
    run(200, {&a, &b});
    EXPECT_NE(b.revoked.find("metadata and sequence headers"), std::string::npos) << b.revoked;
    EXPECT_EQ(b.reason, base::CloseReason::kFlood);
    EXPECT_FALSE(b.publication.waits());
    // One that never sends a keyframe.
    ASSERT_TRUE(join(c));
    c.frames = 1;
    const auto send_no_keyframe = [&] {
        c.publication.publish(video(c.frames++ * 40, false, "c"));
        c.publication.publish(audio(c.frames * 40, "c"));
    };
    for (int i = 0; i < 20; ++i) {
        send_no_keyframe();
        run(40, {&a});
    }
    a.publication.end();
    for (int i = 0; i < 100; ++i) {
        send_no_keyframe();
        time.pass_ms(40);
    }
    EXPECT_EQ(active(), "none");
    EXPECT_GE(c.keyframes_wanted, 3) << "one each second is asked for";
    Encoder d("d");
    ASSERT_TRUE(join(d));
    run(80, {&d});
    EXPECT_EQ(active(), "d") << "another one does not wait for it";
    d.publication.end();
}

TEST_F(StreamStandbyTest, MemoryOfHeadersCounts) {
    ASSERT_TRUE(join(a));
    const size_t before = stream->memory().gop;
    ASSERT_TRUE(join(b));
    b.publication.publish(metadata(std::string(100'000, 'x')));
    EXPECT_GE(stream->memory().gop, before + 100'000);
    b.publication.end();
    EXPECT_EQ(stream->memory().gop, before);
}

TEST_F(StreamStandbyTest, ARevokedActiveOneIsFollowed) {
    ASSERT_TRUE(join(a) && join(b));
    run(400, {&a, &b});
    stream->revoke("its output has failed", base::CloseReason::kOutputFailed);
    run(1'000, {&a, &b});
    EXPECT_EQ(active(), "b");
    EXPECT_EQ(a.revoked, "its output has failed");
    EXPECT_FALSE(a.publication.waits());
}

TEST_F(StreamStandbyTest, APublisherByRtpIsOfferedTheNameAtAKeyframe) {
    ASSERT_TRUE(join(a) && join(b));
    run(400, {&a});
    EXPECT_FALSE(b.publication.offer(media::Kind::kVideo, true));
    EXPECT_TRUE(a.publication.offer(media::Kind::kVideo, false)) << "it is in force";
    a.publication.end();
    EXPECT_FALSE(b.publication.offer(media::Kind::kVideo, false));
    EXPECT_TRUE(b.publication.offer(media::Kind::kVideo, true));
    EXPECT_EQ(active(), "b");
}

}  // namespace
}  // namespace live
