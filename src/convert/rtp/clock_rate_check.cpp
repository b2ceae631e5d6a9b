#include "convert/rtp/clock_rate_check.h"

#include <cmath>

#include "media/aac.h"
#include "media/audio_headers.h"

namespace convert {

using media::Codec;
using media::Time;

namespace {

constexpr uint32_t kRates[] = {8000, 11'025, 12'000, 16'000, 22'050, 24'000, 32'000, 44'100, 48'000, 90'000, 96'000};

// The usual rate within 1 % of this one, in Hz; 0: none.
uint32_t usual_rate(double measured) {
    for (uint32_t rate : kRates)
        if (std::abs(measured / rate - 1) < 0.01) return rate;
    return 0;
}

}  // namespace

void ClockRateCheck::set_header(const media::Frame& header) {
    if (header.codec != Codec::kAac) return;
    auto config = media::parse_aac_config(header.payload);
    if (config) aac_duration_ = media::from_ticks(config->samples_per_frame, config->core_sample_rate);
}

Time ClockRateCheck::duration_of(const media::Frame& frame) const {
    switch (frame.codec) {
        case Codec::kAac:
            return aac_duration_;
        case Codec::kPcmAlaw:
        case Codec::kPcmUlaw:
            return media::from_ticks(static_cast<int64_t>(frame.payload.size()), 8000);
        case Codec::kOpus:
            return media::from_ticks(media::audio_frame_samples(frame.codec, frame.payload), 48'000);
        case Codec::kMp3: {
            auto header = media::parse_mpeg_audio(frame.payload);
            return header && header->sample_rate > 0 ? media::from_ticks(header->samples, header->sample_rate)
                                                     : Time(0);
        }
        default:
            return Time(0);
    }
}

std::optional<uint32_t> ClockRateCheck::check(const media::Frame& frame, uint32_t timestamp) {
    const auto step = static_cast<int32_t>(timestamp - timestamp_);
    const double seconds = std::chrono::duration<double>(duration_).count();
    const uint32_t rate = seconds > 0 && step > 0 ? usual_rate(step / seconds) : 0;
    timestamp_ = timestamp;
    duration_ = duration_of(frame);
    // Units of one packet are put apart by the described rate, and packets with gaps fit none.
    const double difference = static_cast<double>(rate) / rate_;
    if (rate == 0 || (difference > 0.85 && difference < 1.18)) {
        count_ = 0;
        return std::nullopt;
    }
    count_ = rate == candidate_ ? count_ + 1 : 1;
    candidate_ = rate;
    if (count_ < kEnough) return std::nullopt;
    rate_ = rate;
    count_ = 0;
    return rate;
}

}  // namespace convert
