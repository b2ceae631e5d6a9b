// Fuzzes video_info(). The input is a byte for the codec, and the payload. For any input the result is of that codec,
// its size is absent or possible, and the same bytes give the same result again.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "protocol/rtp/payload/keyframe.h"
#include "service/rtc/publish/video_info.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using media::Codec;
    constexpr std::array kCodecs = {Codec::kH264, Codec::kHevc, Codec::kVp8, Codec::kVp9, Codec::kAv1, Codec::kOpus};
    if (size == 0) return 0;
    const Codec codec = kCodecs[data[0] % kCodecs.size()];
    const std::span<const uint8_t> payload(data + 1, size - 1);
    (void)rtp::is_keyframe(codec, payload);
    const auto info = service::rtc::video_info(codec, payload);
    const auto again = service::rtc::video_info(codec, payload);
    CHECK(info.has_value() == again.has_value());
    if (!info) return 0;
    CHECK(codec != Codec::kOpus && info->codec == codec);
    CHECK(info->width >= 0 && info->height >= 0);
    CHECK(info->width == again->width && info->height == again->height);
    CHECK(info->profile == again->profile && info->level == again->level);
    return 0;
}
