#include "service/rtc/publish/layer_choice.h"

#include <gtest/gtest.h>

#include <array>

namespace service::rtc {
namespace {

using Step = LayerChoice::Step;

// Layers that send a frame of one packet each 40 ms.
struct Layers {
    explicit Layers(size_t count) : choice(count) {}

    Step put(size_t layer, bool keyframe, size_t bytes = 100) {
        const Step step = choice.on_packet(
            layer, {++sequence[layer], timestamp, bytes, keyframe, keyframe ? pixels[layer] : 0}, now_ms);
        timestamp += 3600;
        return step;
    }
    // The layer that a keyframe was last requested of within so many ms, in which these layers send.
    std::optional<size_t> run(int64_t ms, std::vector<size_t> sending) {
        std::optional<size_t> asked;
        for (const int64_t end = now_ms + ms; now_ms < end; now_ms += 40) {
            for (size_t layer : sending) put(layer, false, bytes[layer]);
            if (const auto layer = choice.on_tick(now_ms)) asked = layer;
        }
        return asked;
    }

    LayerChoice choice;
    int64_t now_ms = 1'000'000;
    uint32_t timestamp = 0;
    std::array<uint16_t, 3> sequence{65'530, 10, 30'000};
    std::array<uint64_t, 3> pixels{100, 200, 300};
    std::array<size_t, 3> bytes{100, 100, 100};
};

TEST(LayerChoice, AtTheStartALargerOneIsTakenAtItsFirstKeyframe) {
    Layers layers(3);
    EXPECT_EQ(layers.put(1, false), Step::kSkipped);
    EXPECT_FALSE(layers.choice.current());
    EXPECT_EQ(layers.put(1, true), Step::kBegins);
    EXPECT_EQ(layers.put(0, true), Step::kSkipped) << "it is smaller";
    EXPECT_EQ(layers.put(2, true), Step::kBegins);
    EXPECT_EQ(layers.put(1, true), Step::kSkipped);
    EXPECT_EQ(layers.put(2, false), Step::kCarried);
    EXPECT_EQ(layers.choice.current(), 2u);
}

TEST(LayerChoice, LaterALargerOneHasToLive) {
    Layers layers(3);
    layers.put(0, true);
    EXPECT_FALSE(layers.run(5000, {0}));
    EXPECT_EQ(layers.put(2, true), Step::kSkipped);
    EXPECT_FALSE(layers.run(1900, {0, 2}));
    EXPECT_EQ(layers.run(200, {0, 2}), 2u);
    EXPECT_EQ(layers.choice.target(), 2u);
    EXPECT_EQ(layers.choice.current(), 0u) << "until the keyframe";
    EXPECT_FALSE(layers.run(800, {0, 2})) << "one request a second";
    EXPECT_EQ(layers.run(200, {0, 2}), 2u);
    EXPECT_EQ(layers.put(2, true), Step::kBegins);
    EXPECT_FALSE(layers.choice.target());
    EXPECT_FALSE(layers.run(3000, {0, 2}));
}

TEST(LayerChoice, APauseBeginsItsLifeAgain) {
    Layers layers(3);
    layers.put(0, true);
    layers.run(5000, {0});
    layers.put(2, true);
    layers.run(1500, {0, 2});
    layers.run(LayerChoice::kDeadMs, {0});
    EXPECT_FALSE(layers.run(1900, {0, 2}));
    EXPECT_EQ(layers.run(200, {0, 2}), 2u);
}

TEST(LayerChoice, ADeadOneIsReplacedByTheBestThatSends) {
    Layers layers(3);
    layers.put(2, true);
    layers.put(1, true);
    layers.put(0, true);
    layers.run(3000, {0, 1, 2});
    EXPECT_FALSE(layers.run(LayerChoice::kDeadMs - 80, {0, 1}));
    EXPECT_EQ(layers.run(120, {0, 1}), 1u);
    EXPECT_EQ(layers.put(0, true), Step::kSkipped);
    EXPECT_EQ(layers.put(1, true), Step::kBegins);
    // A BYE needs no wait. A layer that has just begun to send is better than none.
    layers.run(3000, {1});
    layers.choice.on_bye(1);
    layers.put(0, false);
    EXPECT_EQ(layers.choice.on_tick(layers.now_ms), 0u);
    // All are dead: the one that returns is carried on.
    layers.run(3000, {});
    EXPECT_FALSE(layers.choice.target());
    EXPECT_EQ(layers.put(1, false), Step::kCarried);
}

TEST(LayerChoice, OfOneSizeTheBitrateDecidesClearly) {
    Layers layers(2);
    layers.pixels = {100, 100, 0};
    layers.put(0, true);
    layers.put(1, true);
    layers.bytes = {100, 120, 0};
    EXPECT_FALSE(layers.run(6000, {0, 1}));
    layers.bytes = {100, 140, 0};
    EXPECT_EQ(layers.run(2000, {0, 1}), 1u);
    // Likewise while a size is not known.
    Layers unknown(2);
    unknown.put(0, true);
    unknown.bytes = {100, 500, 0};
    EXPECT_EQ(unknown.run(4000, {0, 1}), 1u);
}

TEST(LayerChoice, ALivingOneIsKeptForAWhile) {
    Layers layers(2);
    layers.put(0, true);
    layers.put(1, true);
    layers.run(3000, {0, 1});
    layers.pixels = {1000, 5000, 0};
    EXPECT_EQ(layers.put(0, true), Step::kSkipped);
    EXPECT_EQ(layers.run(40, {0, 1}), 0u);
    EXPECT_EQ(layers.put(0, true), Step::kBegins);
    EXPECT_EQ(layers.put(1, true), Step::kSkipped);
    EXPECT_FALSE(layers.run(LayerChoice::kMinStayMs - 40, {0, 1}));
    EXPECT_EQ(layers.run(80, {0, 1}), 1u);
}

// Parameter sets may have been in the packet that is missing: the keyframe that it belongs to is no start.
TEST(LayerChoice, AKeyframeWithAHoleIsNoStart) {
    LayerChoice choice(1);
    const auto put = [&](uint16_t sequence, uint32_t timestamp, bool keyframe) {
        return choice.on_packet(0, {sequence, timestamp, 10, keyframe, 0}, 1000);
    };
    EXPECT_EQ(put(10, 1, false), Step::kSkipped);
    EXPECT_EQ(put(12, 2, true), Step::kSkipped) << "11 is missing";
    EXPECT_EQ(put(13, 2, true), Step::kSkipped) << "a start, of the same frame";
    EXPECT_EQ(put(14, 3, false), Step::kSkipped);
    EXPECT_EQ(put(11, 2, true), Step::kSkipped) << "late";
    EXPECT_EQ(put(16, 4, false), Step::kSkipped);
    EXPECT_EQ(put(17, 4, true), Step::kSkipped) << "15 may be of this frame";
    EXPECT_EQ(put(18, 5, false), Step::kSkipped);
    EXPECT_EQ(put(19, 5, true), Step::kBegins) << "behind a delimiter";
    // Another SSRC, or other numbers.
    LayerChoice other(1);
    EXPECT_EQ(other.on_packet(0, {40'000, 1, 10, false, 0}, 1000), Step::kSkipped);
    EXPECT_EQ(other.on_packet(0, {100, 2, 10, true, 0}, 1000), Step::kSkipped);
    EXPECT_EQ(other.on_packet(0, {101, 3, 10, false, 0}, 1000), Step::kSkipped);
    other.restart(0);
    EXPECT_EQ(other.on_packet(0, {60'000, 3, 10, true, 0}, 1000), Step::kBegins);
}

TEST(LayerChoice, PaddingIsNoLife) {
    Layers layers(2);
    layers.put(0, true);
    layers.run(3000, {0});
    layers.bytes[1] = 0;
    EXPECT_FALSE(layers.run(5000, {0, 1}));
    EXPECT_EQ(layers.put(0, false, 0), Step::kCarried) << "its number is of the stream";
}

}  // namespace
}  // namespace service::rtc
