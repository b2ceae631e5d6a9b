#include "load/srt/player.h"

namespace load::srt {

namespace {
constexpr uint8_t kSyncByte = 0x47;
}

::srt::Connection Player::connect(const ::srt::Agreement& agreement) {
    return ::srt::Connection::receiving(agreement, {}, *this, decryptor());
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
