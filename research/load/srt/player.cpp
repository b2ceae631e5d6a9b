#include "load/srt/player.h"

namespace load::srt {

namespace {
constexpr uint8_t kSyncByte = 0x47;
}

::srt::Connection Player::connect(const ::srt::Agreement& agreement) {
    return ::srt::Connection::receiving(agreement, {}, *this, decryptor());
}

bool Player::on_packet(size_t bytes, int64_t now_us) {
    meter_.on_packet(bytes, now_us, begun_us());
    if (loss_ == 0) return true;
    uint32_t dice;
    fill_random({reinterpret_cast<uint8_t*>(&dice), sizeof dice});
    return dice % 10'000 >= static_cast<uint32_t>(loss_ * 100);
}

void Player::on_message(const Message& message) {
    if (message.bytes.empty() || message.bytes[0] != kSyncByte) ++damaged_;
}

PacketCounts Player::counts() const {
    if (!connection()) return {};
    const ::srt::Receiver::Counters& all = connection()->receiver()->counters();
    return {.lost = static_cast<int64_t>(all.skipped), .asked = all.requested, .recovered = all.recovered};
}

}  // namespace load::srt
