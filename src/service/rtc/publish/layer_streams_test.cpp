// Layers of simulcast as streams of their own.
#include "live/hub/owner_testing.h"
#include "service/rtc/publish/publisher_layers_testing.h"

namespace service::rtc {
namespace {

using testing::FakeSession;
using testing::PublisherLayersTest;
using testing::Requests;
using testing::SentLayer;

struct Frames final : live::FrameSink {
    explicit Frames(live::Stream& from) : stream(from) { stream.subscribe(*this); }
    ~Frames() { stream.unsubscribe(*this); }
    void on_tracks(const base::Ref<media::TrackSet>&) override {}
    void on_frame(const media::Frame& frame) override {
        if (frame.kind != media::Kind::kVideo) return;
        ++video;
        keyframes += frame.keyframe;
    }
    live::Stream& stream;
    size_t video = 0, keyframes = 0;
};

class LayerStreamsTest : public PublisherLayersTest {
  protected:
    LayerStreamsTest() {
        own.get<VhostConfig>().layers_as_streams = true;
        own.get<VhostConfig>().rtc_to_rtmp = true;
        vhost = &own;
    }
    ~LayerStreamsTest() { publisher.reset(); }

    static live::StreamKey key(const std::string& rid) { return {"v", "live", "s@" + rid}; }
    base::Ref<live::Stream> of(const std::string& rid) { return registry.find(key(rid)); }
    bool has(const std::string& rid) {
        const auto found = of(rid);
        return found && found->published();
    }
    // As run(), with the coroutines that call the readers of lanes.
    void play(int64_t ms) {
        for (int64_t passed = 0; passed < ms; passed += 40) {
            run(40);
            for (int i = 0; i < 3; ++i) (void)runtime::yield();
        }
    }

    config::Vhost own = *vhost;
};

TEST_F(LayerStreamsTest, TheSmallerOnesAreStreams) {
    connect();
    run(1900);
    EXPECT_FALSE(has("q") || has("h")) << "they may be gone at once";
    run(300);
    ASSERT_TRUE(has("q") && has("h"));
    EXPECT_FALSE(has("f")) << "it is the stream";
    EXPECT_EQ(of("q")->publisher()->simulcast_of(), stream->key());
    EXPECT_EQ(stream->publisher()->simulcast_of(), stream->key());
    const live::RtpLane& of_q = of("q")->rtp_lane();
    ASSERT_EQ(of_q.tracks().size(), 2u);
    run(400);
    EXPECT_EQ(of_q.ring().packets(), 0u) << "nobody reads it";
    publisher.reset();
    EXPECT_FALSE(has("q") || has("h") || stream->published());
}

TEST_F(LayerStreamsTest, OffNoneIs) {
    own.get<VhostConfig>().layers_as_streams = false;
    connect();
    run(3000);
    EXPECT_FALSE(has("q") || has("h"));
    EXPECT_EQ(stream->publisher()->simulcast_of(), std::nullopt);
}

TEST_F(LayerStreamsTest, WhoTakesFramesGetsThoseOfTheLayer) {
    connect();
    run(2200);
    Frames frames(*of("q"));
    (void)requests();
    play(1000);
    EXPECT_GE(frames.video, 20u);
    EXPECT_EQ(frames.keyframes, 1u) << "the one that was requested";
    const auto audio = [](const live::RtpLane& lane) {
        size_t count = 0;
        for (uint64_t i = lane.ring().begin(); i < lane.ring().end(); ++i) count += lane.ring().at(i).track == 1;
        return count;
    };
    EXPECT_GE(audio(of("q")->rtp_lane()), 20u) << "the publisher's audio";
    EXPECT_EQ(of("q")->rtp_lane().video_info().width, 320);
    EXPECT_EQ(of("h")->rtp_lane().ring().packets(), 0u);
}

// So that segments of HLS end together.
TEST_F(LayerStreamsTest, AKeyframeOfTheStreamIsOneOfEachThatIsRead) {
    connect();
    run(2200);
    Frames frames(*of("q"));
    play(1500);
    (void)requests();
    lane.request_keyframe(now_us / 1000);
    publisher->on_tick(now_us / 1000);
    EXPECT_EQ(requests().plis, (std::multiset<uint32_t>{layer("q").ssrc, layer("f").ssrc}));
}

TEST_F(LayerStreamsTest, KeyframesAreRequestedNowAndThen) {
    own.get<VhostConfig>().pli_for_rtmp = 2;
    connect();
    run(2200);
    Frames frames(*of("q"));
    play(7000);
    EXPECT_GE(frames.keyframes, 3u);
    EXPECT_LE(frames.keyframes, 5u);
}

TEST_F(LayerStreamsTest, OneThatPausesEndsAndReturns) {
    connect();
    run(2200);
    const auto held = of("q");
    layer("q").on = false;
    run(1300);
    EXPECT_TRUE(has("q"));
    run(400);
    EXPECT_FALSE(has("q"));
    EXPECT_TRUE(has("h") && stream->published());
    layer("q").on = true;
    run(1900);
    EXPECT_FALSE(has("q"));
    run(400);
    EXPECT_TRUE(has("q"));
    EXPECT_EQ(of("q").get(), held.get());
}

// The largest one is gone for good: the stream has the next one.
TEST_F(LayerStreamsTest, TheStreamTakesALayerThatIsOne) {
    connect();
    run(2200);
    layer("f").on = false;
    run(3000);
    EXPECT_EQ(lane.video_info().width, 640);
    EXPECT_TRUE(has("h")) << "its players stay where they are";
}

TEST_F(LayerStreamsTest, ANameThatAnotherHasIsLeftToIt) {
    live::testing::Owner other;
    const auto taken = registry.find_or_create(key("q"), {});
    auto publication = taken->acquire(other, false);
    ASSERT_TRUE(publication.has_value());
    connect();
    run(3000);
    EXPECT_EQ(taken->publisher(), &other);
    EXPECT_EQ(taken->publisher()->simulcast_of(), std::nullopt);
    EXPECT_TRUE(has("h"));
    EXPECT_EQ(session.ended, "");
    publication->end();
    run(5200);
    EXPECT_TRUE(has("q"));
    EXPECT_NE(taken->publisher(), &other);
}

TEST_F(LayerStreamsTest, WhoMayTakeTheNameOverKeepsIt) {
    connect();
    run(2200);
    live::testing::Owner other;
    const auto taken = of("q");
    auto publication = taken->acquire(other, true);
    ASSERT_TRUE(publication.has_value());
    run(6000);
    EXPECT_EQ(taken->publisher(), &other);
    publication->end();
    run(6000);
    EXPECT_FALSE(has("q"));
    EXPECT_TRUE(has("h") && stream->published());
    EXPECT_EQ(session.ended, "");
}

TEST_F(LayerStreamsTest, AStandbyHasNone) {
    own.publish.standby = config::StandbyMode::kOn;
    FakeSession other;
    auto first = std::make_unique<Publisher>(
        MediaParts{other, registry, codec_log, stream->key(), snapshot, *vhost, {}, {}, {}}, stream,
        PublishFormat{
            .tracks = {{.track = {.kind = media::Kind::kVideo, .codec = media::Codec::kVp8, .payload_type = 96}}}},
        78);
    ASSERT_TRUE(runtime::testing::ok(first->prepare()));
    first->on_connected(now_us / 1000);
    connect();
    run(3000);
    EXPECT_FALSE(has("q") || has("h"));
    first.reset();
    for (SentLayer& one : layers) one.wants_keyframe = true;
    run(400);
    EXPECT_TRUE(stream->published() && has("q") && has("h"));
}

}  // namespace
}  // namespace service::rtc
