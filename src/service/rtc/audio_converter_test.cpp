#include "service/rtc/audio_converter.h"

#include <memory>

#include "runtime/coroutine.h"
#include "runtime/testing.h"

namespace service::rtc {
namespace {

using media::Codec;

class AudioConverterTest : public runtime::testing::RuntimeTest {
  protected:
    static media::AudioTranscoderOptions alaw_to_aac() {
        media::AudioTranscoderOptions options;
        options.from = Codec::kPcmAlaw;
        options.from_channels = 1;
        options.to = Codec::kAac;
        return options;
    }
    std::unique_ptr<AudioConverter> make(const media::AudioTranscoderOptions& options) {
        return std::make_unique<AudioConverter>(
            "v/live/s", options, [this](std::vector<media::EncodedAudio>& packets, const base::Slice& header) {
                came += packets.size();
                EXPECT_FALSE(header.empty());
                if (destroy) destroy->reset();
            });
    }
    static void push(AudioConverter& converter, int count) {
        for (int i = 0; i < count; ++i) converter.push(base::Slice::copy(std::vector<uint8_t>(160, 0xd5)), i * 20'000);
    }
    static void settle() {
        for (int i = 0; i < 500; ++i) (void)runtime::yield();
    }
    size_t came = 0;
    std::unique_ptr<AudioConverter>* destroy = nullptr;
};

TEST_F(AudioConverterTest, DeliversLaterAndInItsOwnCoroutine) {
    auto one = make(alaw_to_aac());
    size_t before = runtime::coroutine_count();
    auto other = make(alaw_to_aac());
    push(*one, 20);
    push(*other, 20);
    EXPECT_EQ(came, 0u);
    EXPECT_EQ(runtime::coroutine_count(), before + 1);  // one for both
    settle();
    EXPECT_GT(came, 30u);
    one.reset();
    other.reset();
    settle();
    EXPECT_EQ(runtime::coroutine_count(), before);
}

TEST_F(AudioConverterTest, WhatWaitsIsBounded) {
    auto converter = make(alaw_to_aac());
    push(*converter, AudioConverter::kMostWaiting + 7);
    EXPECT_EQ(converter->dropped(), 7u);
    settle();
}

TEST_F(AudioConverterTest, ADestroyedOneDeliversNothing) {
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

TEST_F(AudioConverterTest, CodecsThatCannotBeOpenedSwallowAll) {
    auto options = alaw_to_aac();
    options.from = Codec::kSpeex;
    auto converter = make(options);
    push(*converter, 3);
    settle();
    EXPECT_TRUE(converter->failed());
    push(*converter, 3);
    settle();
    EXPECT_EQ(came, 0u);
}

}  // namespace
}  // namespace service::rtc
