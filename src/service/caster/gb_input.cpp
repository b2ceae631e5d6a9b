#include "service/caster/gb_input.h"

#include <algorithm>
#include <cstdlib>

#include "base/slice.h"

namespace service::caster {
namespace {

// Sequence numbers that are further apart are those of a camera that has started again.
constexpr int64_t kMaxGbStep = 3'000;
// RFC 5761, 4: with the bit of the marker these are the types of RTCP from 200 on.
constexpr uint8_t kFirstRtcp = 72, kLastRtcp = 76;

}  // namespace

bool GbInput::begins_stream(std::span<const uint8_t> payload) {
    constexpr uint8_t kPackCode[] = {0, 0, 1, 0xba};
    return payload.size() >= std::size(kPackCode) && std::ranges::equal(payload.first(std::size(kPackCode)), kPackCode);
}

bool GbInput::is_rtcp(std::span<const uint8_t> packet) {
    return packet.size() >= 2 && (packet[1] & 0x7f) >= kFirstRtcp && (packet[1] & 0x7f) <= kLastRtcp;
}

void GbInput::push(const rtp::PacketView& packet, int64_t now_us, GbUser& user) {
    const auto newest = sequence_.newest();
    const bool begins_anew = newest && std::abs(sequence_.peek(packet.sequence()) - *newest) > kMaxGbStep;
    if (begins_anew) {
        user.on_gap();
        sequence_.reset();
        buffer_.reset();
        last_sequence_.reset();
    }
    const int64_t sequence = sequence_.unwrap(packet.sequence());
    if (!reorders_) {
        if (last_sequence_ && sequence != *last_sequence_ + 1) user.on_gap();
        last_sequence_ = sequence;
        return take(packet.timestamp(), packet.marker(), packet.payload(), now_us, user);
    }
    // Room below the first number, for packets that were overtaken at the start.
    constexpr int64_t kRoomBelow = 1 << 17;
    buffer_.push({static_cast<uint64_t>(sequence + kRoomBelow), packet.timestamp(), packet.marker(), now_us,
                  base::Slice::copy(packet.payload())});
    drain(now_us, user);
}

void GbInput::drain(int64_t now_us, GbUser& user) {
    while (auto next = buffer_.pop(now_us)) {
        if (next->after_hole) user.on_gap();
        take(next->packet.timestamp, next->packet.marker, next->packet.payload, next->packet.arrival_us, user);
    }
}

void GbInput::take(uint32_t timestamp, bool marker, std::span<const uint8_t> payload, int64_t now_us, GbUser& user) {
    if (timestamp_ != timestamp) {
        if (timestamp_) trust_ = is_marked_ ? std::min(trust_ + 1, kTrusted) : 0;
        if (timestamp_ && begins_stream(payload)) user.on_unit_end(now_us);
        timestamp_ = timestamp;
    } else if (is_marked_) {
        trust_ = 0;
    }
    is_marked_ = marker;
    user.on_stream_bytes(payload, now_us);
    if (marker && trust_ == kTrusted) user.on_unit_end(now_us);
}

void GbInput::on_tick(int64_t now_us, GbUser& user) {
    if (reorders_) drain(now_us, user);
}

}  // namespace service::caster
