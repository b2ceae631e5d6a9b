#include "service/caster/cell_input.h"

#include <cstdlib>

#include "base/slice.h"
#include "protocol/rtp/packet.h"
#include "protocol/ts/packet.h"

namespace service::caster {
namespace {

// RFC 3551, table 5: MP2T. Other types are dynamic.
constexpr uint8_t kMp2t = 33, kFirstDynamic = 96;
// Sequence numbers that are further apart are of another source, as after a restart of the sender.
constexpr int64_t kMaxSequenceStep = 3'000;

bool begins_packet(std::span<const uint8_t> bytes) {
    return bytes.size() >= ts::kPacketSize && bytes[0] == ts::kSyncByte &&
           (bytes.size() <= ts::kPacketSize || bytes[ts::kPacketSize] == ts::kSyncByte);
}

// The packet's payload; nothing: it is no RTP with a transport stream.
std::optional<rtp::PacketView> rtp_packet(std::span<const uint8_t> datagram) {
    auto packet = rtp::PacketView::parse(datagram);
    if (!packet || (packet->payload_type() != kMp2t && packet->payload_type() < kFirstDynamic)) return std::nullopt;
    return packet;
}

}  // namespace

bool CellInput::begins_stream(std::span<const uint8_t> datagram) {
    if (begins_packet(datagram)) return true;
    const auto packet = rtp_packet(datagram);
    return packet && begins_packet(packet->payload());
}

void CellInput::push(std::span<const uint8_t> datagram, int64_t now_us, CellUser& user) {
    if (datagram.empty()) return;
    if (form_ == Form::kUnknown) {
        if (!begins_stream(datagram)) return;
        form_ = begins_packet(datagram) ? Form::kPlain : Form::kRtp;
    }
    if (form_ == Form::kPlain) return user.on_cells(datagram, now_us);
    push_rtp(datagram, now_us, user);
}

void CellInput::push_rtp(std::span<const uint8_t> datagram, int64_t now_us, CellUser& user) {
    const auto packet = rtp_packet(datagram);
    if (!packet) return void(++bad_packets_);
    const auto newest = sequence_.newest();
    const bool is_other = !has_received_ || packet->ssrc() != ssrc_ ||
                          (newest && std::abs(sequence_.peek(packet->sequence()) - *newest) > kMaxSequenceStep);
    if (is_other) {
        if (has_received_) user.on_gap();
        sequence_.reset();
        buffer_.reset();
    }
    has_received_ = true;
    ssrc_ = packet->ssrc();
    // Room below the first number, for packets that were overtaken at the start.
    constexpr int64_t kRoom = 1 << 17;
    const auto sequence = static_cast<uint64_t>(sequence_.unwrap(packet->sequence()) + kRoom);
    buffer_.push({sequence, packet->timestamp(), packet->marker(), now_us, base::Slice::copy(packet->payload())});
    drain(now_us, user);
}

void CellInput::drain(int64_t now_us, CellUser& user) {
    while (auto next = buffer_.pop(now_us)) {
        if (next->after_hole) user.on_gap();
        user.on_cells(next->packet.payload, next->packet.arrival_us);
    }
}

void CellInput::on_tick(int64_t now_us, CellUser& user) {
    if (uses_rtp()) drain(now_us, user);
}

}  // namespace service::caster
