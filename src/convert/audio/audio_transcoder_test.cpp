#include "convert/audio/audio_transcoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "media/aac.h"
#include "media/audio_headers.h"

namespace convert {
namespace {

using Packets = std::vector<EncodedAudio>;

// A tone as A-law at 8 kHz, 20 ms a packet: it needs no encoder.
uint8_t alaw(int sample) {
    int sign = sample < 0 ? 0 : 0x80;
    int value = std::min(std::abs(sample), 32635) >> 3;
    int exponent = 0;
    while (exponent < 7 && value >= 0x20 << exponent) ++exponent;
    int mantissa = exponent == 0 ? value >> 1 : value >> exponent;
    return static_cast<uint8_t>((sign | exponent << 4 | (mantissa & 15)) ^ 0x55);
}

std::vector<uint8_t> tone_packet(int index, double hertz) {
    std::vector<uint8_t> out(160);
    for (size_t i = 0; i < out.size(); ++i) {
        double t = (static_cast<double>(index) * 160 + static_cast<double>(i)) / 8000;
        out[i] = alaw(static_cast<int>(12000 * std::sin(2 * std::numbers::pi * hertz * t)));
    }
    return out;
}

AudioTranscoderOptions from_alaw(media::Codec to) {
    AudioTranscoderOptions options;
    options.from = media::Codec::kPcmAlaw;
    options.from_channels = 1;
    options.to = to;
    options.slack_ms = 15;
    return options;
}

std::unique_ptr<AudioTranscoder> make(const AudioTranscoderOptions& options) {
    auto made = AudioTranscoder::make(options);
    EXPECT_TRUE(made) << (made ? "" : made.error().text());
    return made ? std::move(*made) : nullptr;
}

// `count` packets of the tone, the first at `time_us`.
Packets encode_tone(AudioTranscoder& to, int count, int64_t time_us, double hertz = 440) {
    Packets out;
    for (int i = 0; i < count; ++i) to.push(tone_packet(i, hertz), time_us + i * 20'000, out);
    return out;
}

TEST(AudioTranscoder, MakesOpusOfTwentyMilliseconds) {
    auto to = make(from_alaw(media::Codec::kOpus));
    ASSERT_TRUE(to);
    auto head = media::parse_opus_head(to->header());
    ASSERT_TRUE(head);
    EXPECT_EQ(head->channels, 1);
    auto packets = encode_tone(*to, 100, 5'000'000);
    ASSERT_GE(packets.size(), 97u);
    for (size_t i = 0; i < packets.size(); ++i) {
        auto toc = media::parse_opus_packet(packets[i].payload);
        ASSERT_TRUE(toc);
        EXPECT_EQ(toc->duration_us, 20'000);
        // The encoder looks ahead by 6.5 ms, and the resampler by less than a millisecond.
        EXPECT_NEAR(static_cast<double>(packets[i].time), 240'000 - 312 + static_cast<double>(i) * 960, 48) << i;
    }
}

TEST(AudioTranscoder, MakesOpusPacketsOfTheRequestedDuration) {
    for (int ptime_ms : {20, 40, 60}) {
        AudioTranscoderOptions options = from_alaw(media::Codec::kOpus);
        options.opus_ptime_ms = ptime_ms;
        auto to = make(options);
        ASSERT_TRUE(to);
        auto packets = encode_tone(*to, 100, 5'000'000);
        ASSERT_GE(packets.size(), 2000 / static_cast<size_t>(ptime_ms) - 3);
        for (size_t i = 0; i < packets.size(); ++i) {
            auto toc = media::parse_opus_packet(packets[i].payload);
            ASSERT_TRUE(toc);
            EXPECT_EQ(toc->duration_us, ptime_ms * 1000);
            if (i > 0) {
                EXPECT_EQ(packets[i].time - packets[i - 1].time, ptime_ms * 48) << i;
            }
        }
    }
}

TEST(AudioTranscoder, PredictsWhenAPacketComes) {
    auto options = from_alaw(media::Codec::kOpus);
    options.opus_ptime_ms = 60;
    auto to = make(options);
    ASSERT_TRUE(to);
    EXPECT_EQ(to->packets_until_output(), 1u);  // not known yet
    int said = 0, came = 0;
    for (int i = 0; i < 300; ++i) {
        const size_t until = to->packets_until_output();
        Packets out;
        to->push(tone_packet(i, 440), i * 20'000, out);
        if (until > 1) {
            EXPECT_TRUE(out.empty()) << i;
        }
        said += until == 1;
        came += !out.empty();
    }
    EXPECT_GE(came, 98);
    EXPECT_LE(said, came + 3);
}

TEST(AudioTranscoder, TheHeaderOfAacIsKnownBefore) {
    for (int channels : {1, 2}) {
        AudioTranscoderOptions options = from_alaw(media::Codec::kAac);
        options.from_channels = channels;
        auto made = make(options);
        ASSERT_TRUE(made);
        EXPECT_EQ(made->header(), AudioTranscoder::aac_header(channels)) << channels;
    }
}

TEST(AudioTranscoder, KeepsTimesToAacAndBack) {
    auto to_aac = make(from_alaw(media::Codec::kAac));
    ASSERT_TRUE(to_aac);
    auto config = media::parse_aac_config(to_aac->header());
    ASSERT_TRUE(config);
    EXPECT_EQ(config->output_sample_rate, 48'000);
    AudioTranscoderOptions back;
    back.from = media::Codec::kAac;
    back.from_header = to_aac->header();
    back.to = media::Codec::kOpus;
    auto to_opus = make(back);
    ASSERT_TRUE(to_opus);
    auto aac = encode_tone(*to_aac, 100, 1'000'000);
    ASSERT_GT(aac.size(), 90u);
    Packets opus;
    for (const auto& packet : aac) to_opus->push(packet.payload, packet.time * 1000 / 48, opus);
    ASSERT_GT(opus.size(), 90u);
    for (size_t i = 1; i < opus.size(); ++i) EXPECT_EQ(opus[i].time - opus[i - 1].time, 960) << i;
    EXPECT_NEAR(static_cast<double>(opus[0].time), static_cast<double>(aac[0].time) - 312, 96);
    EXPECT_EQ(to_opus->counters().filled_samples, 0u);
    EXPECT_EQ(to_opus->counters().jumps, 1u);  // at its beginning
}

TEST(AudioTranscoder, AToneIsAudibleAfterBothConversions) {
    auto to_opus = make(from_alaw(media::Codec::kOpus));
    ASSERT_TRUE(to_opus);
    AudioTranscoderOptions back;
    back.from = media::Codec::kOpus;
    back.from_header = to_opus->header();
    back.to = media::Codec::kAac;
    auto to_aac = make(back);
    ASSERT_TRUE(to_aac);
    Packets aac, opus = encode_tone(*to_opus, 100, 0, 1000);
    for (const auto& packet : opus) to_aac->push(packet.payload, packet.time * 1000 / 48, aac);
    // Encoders spend many more bytes on a tone than on silence.
    auto quiet = make(from_alaw(media::Codec::kAac));
    Packets silence;
    for (int i = 0; i < 100; ++i) quiet->push(std::vector<uint8_t>(160, 0xd5), i * 20'000, silence);
    ASSERT_TRUE(aac.size() > 80 && silence.size() > 80);
    size_t loud_bytes = 0, quiet_bytes = 0;
    for (size_t i = 10; i < 80; ++i) {
        loud_bytes += aac[i].payload.size();
        quiet_bytes += silence[i].payload.size();
    }
    EXPECT_GT(loud_bytes, 4 * quiet_bytes);
}

TEST(AudioTranscoder, AGapKeepsTheTimesAfterIt) {
    auto to = make(from_alaw(media::Codec::kOpus));
    ASSERT_TRUE(to);
    Packets out = encode_tone(*to, 50, 0);
    for (int64_t at : {int64_t{1'100'000}, int64_t{62'000'000}}) {
        Packets later = encode_tone(*to, 50, at);
        ASSERT_FALSE(later.empty());
        int64_t last = later.back().time + 960;
        int64_t end = (at + 1'000'000) * 48 / 1000;
        EXPECT_LE(last, end) << at;
        EXPECT_GT(last, end - 3 * 960) << at;
        out.insert(out.end(), later.begin(), later.end());
    }
    for (size_t i = 1; i < out.size(); ++i) EXPECT_GE(out[i].time, out[i - 1].time + 648) << i;
    EXPECT_NEAR(static_cast<double>(to->counters().filled_samples), 4800 + 960, 1000);  // 100 ms, and a packet's rest
    EXPECT_EQ(to->counters().jumps, 2u);
}

// The encoder's own count of times goes on over it for a packet, because of its delay.
TEST(AudioTranscoder, TheFirstPacketBehindAJumpHasTheNewTime) {
    for (const media::Codec codec : {media::Codec::kOpus, media::Codec::kAac}) {
        for (const int64_t jump_us : {int64_t{62'000'000}, int64_t{-30'000'000}}) {
            auto to = make(from_alaw(codec));
            ASSERT_TRUE(to);
            Packets out = encode_tone(*to, 50, 0);
            // One that goes back is taken for one after two seconds of packets that are late.
            int64_t at_us = jump_us;
            for (int i = 0; i < 200; ++i) {
                if (to->counters().jumps < 2) at_us = jump_us + i * 20'000;
                to->push(tone_packet(i, 440), jump_us + i * 20'000, out);
            }
            ASSERT_EQ(to->counters().jumps, 2u);
            const auto first = std::ranges::find_if(out, [](const EncodedAudio& packet) {
                return std::abs(packet.time) > 10 * AudioTranscoder::kSampleRate;
            });
            ASSERT_NE(first, out.end());
            EXPECT_LE(first->time, at_us * 48 / 1000) << jump_us;
            EXPECT_GT(first->time, at_us * 48 / 1000 - 2 * 1024) << jump_us;
        }
    }
}

TEST(AudioTranscoder, GarbageIsCountedAndSkipped) {
    AudioTranscoderOptions options;
    options.from = media::Codec::kAac;
    options.from_header = media::make_aac_config(2, 44'100, 2);
    options.to = media::Codec::kOpus;
    auto to = make(options);
    ASSERT_TRUE(to);
    Packets out;
    for (int i = 0; i < 50; ++i) to->push(std::vector<uint8_t>(200, 0xff), i * 23'000, out);
    to->push(std::vector<uint8_t>(70'000, 1), 0, out);
    to->push({}, 0, out);
    EXPECT_GT(to->counters().undecodable, 40u);
    to->finish(out);
}

TEST(AudioTranscoder, AMalformedHeaderIsAnError) {
    AudioTranscoderOptions options;
    options.from = media::Codec::kAac;
    options.from_header = base::Slice::copy("\xff");
    options.to = media::Codec::kOpus;
    EXPECT_FALSE(AudioTranscoder::make(options));
    options.from = media::Codec::kSpeex;
    EXPECT_FALSE(AudioTranscoder::make(options));
}

TEST(AudioTranscoder, TheRestComesAtTheEnd) {
    auto to = make(from_alaw(media::Codec::kAac));
    ASSERT_TRUE(to);
    auto out = encode_tone(*to, 3, 0);
    size_t before = out.size();
    to->finish(out);
    EXPECT_EQ(out.size(), before + 1);
    to->finish(out);
    EXPECT_EQ(out.size(), before + 1);
}

}  // namespace
}  // namespace convert
