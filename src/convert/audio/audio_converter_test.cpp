#include "convert/audio/audio_converter.h"

#include <chrono>
#include <memory>
#include <thread>

#include "convert/audio/converting_testing.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/testing.h"
#include "runtime/threads/compute.h"

namespace convert {
namespace {

using media::Codec;

class AudioConverterTest : public runtime::testing::RuntimeTest {
  protected:
    static AudioTranscoderOptions alaw_to_aac() {
        AudioTranscoderOptions options;
        options.from = media::Codec::kPcmAlaw;
        options.from_channels = 1;
        options.to = media::Codec::kAac;
        return options;
    }
    std::unique_ptr<AudioConverter> make(const AudioTranscoderOptions& options) {
        return std::make_unique<AudioConverter>("v/live/s", options,
                                                [this](std::vector<EncodedAudio>& packets, const base::Slice& header) {
                                                    came += packets.size();
                                                    EXPECT_FALSE(header.empty());
                                                    if (destroy) destroy->reset();
                                                });
    }
    static void push(AudioConverter& converter, int count) {
        for (int i = 0; i < count; ++i) converter.push(base::Slice::copy(std::vector<uint8_t>(160, 0xd5)), i * 20'000);
    }
    static void settle() { settle_converting(500); }
    // Counts frames, each of which must begin where the one before ended.
    AudioConverter::Deliver in_order() {
        return [this](std::vector<EncodedAudio>& packets, const base::Slice&) {
            for (const EncodedAudio& packet : packets) {
                if (frames++ > 0) {
                    EXPECT_EQ(packet.time, last + 1024) << frames;
                }
                last = packet.time;
            }
        };
    }
    size_t frames = 0;
    int64_t last = INT64_MIN;
    size_t came = 0;
    std::unique_ptr<AudioConverter>* destroy = nullptr;
};

TEST_F(AudioConverterTest, DeliversLaterInItsOwnCoroutine) {
    auto one = make(alaw_to_aac());
    size_t before = runtime::coroutine_count();
    auto other = make(alaw_to_aac());
    push(*one, 20);
    push(*other, 20);
    EXPECT_EQ(came, 0u);
    EXPECT_EQ(runtime::coroutine_count(), before + 1);  // one coroutine for both
    settle();
    EXPECT_GT(came, 30u);
    one.reset();
    other.reset();
    settle();
    EXPECT_EQ(runtime::coroutine_count(), before);
}

TEST_F(AudioConverterTest, StaysInOrderOverManyJobs) {
    AudioConverter converter("v/live/s", alaw_to_aac(), in_order());
    push(converter, 500);
    settle();
    EXPECT_EQ(converter.dropped(), 0u);
    EXPECT_GT(frames, 450u);
}

TEST_F(AudioConverterTest, PacketsWaitUntilTheySufficeForAnOutputPacket) {
    auto options = alaw_to_aac();
    options.to = media::Codec::kOpus;
    options.opus_ptime_ms = 60;
    auto converter = make(options);
    int jobs = 0;
    for (int i = 0; i < 60; ++i) {
        converter->push(base::Slice::copy(std::vector<uint8_t>(160, 0xd5)), i * 20'000);
        jobs += runtime::computing() > 0;
        settle();
    }
    EXPECT_GE(came, 18u);
    EXPECT_LE(jobs, 24);
}

// A thread's output must stay untouched until the coroutine has delivered it.
TEST_F(AudioConverterTest, TakesPacketsBetweenTheThreadsEndAndTheDelivery) {
    using namespace std::chrono_literals;
    AudioConverter converter("v/live/s", alaw_to_aac(), in_order());
    size_t pushed = 0;
    const auto push_some = [&] {
        for (int i = 0; i < 17; ++i, ++pushed)
            converter.push(base::Slice::copy(std::vector<uint8_t>(160, 0xd5)), static_cast<int64_t>(pushed) * 20'000);
    };
    // Until sixteen packets are seen on the thread: on a loaded machine their job may end before the check.
    for (int attempt = 0; attempt < 50 && runtime::computing() == 0; ++attempt) {
        push_some();  // the first goes alone, the others together
        while (runtime::computing() > 0) (void)runtime::yield();
        for (int i = 0; i < 1'000 && runtime::computing() == 0; ++i) (void)runtime::yield();
    }
    ASSERT_EQ(runtime::computing(), 1u);
    // The end of this job is reported in the same iteration of the loop as the converter's, after it.
    ASSERT_TRUE(runtime::compute([] { std::this_thread::sleep_for(30ms); }, push_some));
    std::this_thread::sleep_for(300ms);  // not a coroutine's sleep: the loop must find both at once
    settle();
    EXPECT_GE(frames, pushed * 960 / 1024 - 4);  // less what the encoder holds
}

TEST_F(AudioConverterTest, MayBeDestroyedWhileItsJobIsUnderWay) {
    std::vector<std::unique_ptr<AudioConverter>> converters;
    for (int i = 0; i < 40; ++i) converters.push_back(make(alaw_to_aac()));
    for (int round = 0; round < 5; ++round) {
        for (auto& converter : converters)
            if (converter) push(*converter, 20);
        for (int i = 0; i < 8; ++i) converters[static_cast<size_t>(round * 8 + i)].reset();
        (void)runtime::sleep_ms(1);
    }
    converters.clear();
    came = 0;
    settle();
    EXPECT_EQ(came, 0u);
    EXPECT_EQ(runtime::computing(), 0u);
}

TEST_F(AudioConverterTest, TheQueueIsBounded) {
    auto converter = make(alaw_to_aac());
    push(*converter, AudioConverter::kMaxWaiting + 7);
    EXPECT_EQ(converter->dropped(), 7u);
    settle();
}

TEST_F(AudioConverterTest, DeliversNothingAfterItsDestruction) {
    auto converter = make(alaw_to_aac());
    push(*converter, 20);
    converter.reset();
    settle();
    EXPECT_EQ(came, 0u);
}

TEST_F(AudioConverterTest, MayBeDestroyedWhileItDelivers) {
    auto converter = make(alaw_to_aac());
    destroy = &converter;
    push(*converter, 20);
    settle();
    EXPECT_EQ(converter, nullptr);
    EXPECT_EQ(came, 1u);
}

TEST_F(AudioConverterTest, DiscardsAllWhenCodecsCannotBeOpened) {
    auto options = alaw_to_aac();
    options.from = media::Codec::kSpeex;
    auto converter = make(options);
    push(*converter, 3);
    settle();
    EXPECT_TRUE(converter->failed());
    push(*converter, 3);
    settle();
    EXPECT_EQ(came, 0u);
}

}  // namespace
}  // namespace convert
