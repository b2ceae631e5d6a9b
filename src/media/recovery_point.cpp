#include "media/recovery_point.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/bits.h"

namespace media {

namespace {

constexpr uint8_t kRecoveryPoint = 6;  // payloadType
// Pictures until the correct one. x264 needs one for each column of macroblocks: 240 at 3840 pixels.
constexpr int64_t kMaxUntilCorrect = 300;
constexpr size_t kMaxSeiBytes = 4096;  // of the unit, that are read

// The bytes of a unit without emulation prevention bytes.
class SeiBytes {
  public:
    explicit SeiBytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    std::optional<uint8_t> next() {
        if (zeros_ >= 2 && at_ < bytes_.size() && bytes_[at_] == 3) {
            ++at_;
            zeros_ = 0;
        }
        if (at_ == bytes_.size()) return std::nullopt;
        const uint8_t byte = bytes_[at_++];
        zeros_ = byte == 0 ? zeros_ + 1 : 0;
        return byte;
    }
    // A value of bytes that are added, each but the last 255.
    std::optional<uint32_t> sum() {
        for (uint32_t value = 0;;) {
            const auto byte = next();
            if (!byte) return std::nullopt;
            value += *byte;
            if (*byte != 255) return value;
        }
    }

  private:
    std::span<const uint8_t> bytes_;
    size_t at_ = 0;
    size_t zeros_ = 0;
};

// recovery_frame_cnt of H.264, recovery_poc_cnt of HEVC.
bool is_soon(Codec codec, std::span<const uint8_t> message) {
    base::BitReader bits(message);
    const int64_t pictures = codec == Codec::kH264 ? int64_t{bits.ue()} : int64_t{bits.se()};
    return bits.ok() && pictures <= kMaxUntilCorrect;
}

}  // namespace

bool is_recovery_point(Codec codec, std::span<const uint8_t> sei) {
    const size_t header = codec == Codec::kH264 ? 1 : 2;
    if (sei.size() <= header) return false;
    const auto messages = sei.subspan(header, std::min(sei.size() - header, kMaxSeiBytes));
    // Some encoders send other messages with each frame, such as picture timing.
    if (!std::memchr(messages.data(), kRecoveryPoint, messages.size())) return false;
    SeiBytes bytes(messages);
    while (true) {
        const auto type = bytes.sum();
        const auto size = type ? bytes.sum() : std::nullopt;
        if (!size) return false;
        std::array<uint8_t, 16> message{};
        for (size_t i = 0; i < *size; ++i) {
            const auto byte = bytes.next();
            if (!byte) return false;
            if (i < message.size()) message[i] = *byte;
        }
        if (*type == kRecoveryPoint) return is_soon(codec, message);
    }
}

}  // namespace media
