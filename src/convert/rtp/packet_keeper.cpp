#include "convert/rtp/packet_keeper.h"

#include <algorithm>
#include <utility>

#include "protocol/rtp/payload/keyframe.h"

namespace convert {

using media::Codec;

namespace {

// Packets may have what is no part of the frame: delimiters, filler, parameter sets. More than this beside the frame's
// own size is not worth sending.
constexpr size_t kMaxBeside = 4096;

bool has_parameter_sets(Codec codec) { return codec == Codec::kH264 || codec == Codec::kHevc; }

}  // namespace

bool PacketKeeper::can_keep(const rtp::PayloadFormat& format) {
    static const rtp::PayloadFormat kUsual;
    if (format.codec == Codec::kPcmAlaw || format.codec == Codec::kPcmUlaw) return format.clock_rate == 8'000;
    return !format.latm && format.size_length == kUsual.size_length && format.index_length == kUsual.index_length &&
           format.index_delta_length == kUsual.index_delta_length && format.constant_size == 0;
}

void PacketKeeper::reset() {
    any_ = unusable_ = false;
    count_ = payload_bytes_ = 0;
    packets_.clear();
}

void PacketKeeper::note(const rtp::DepacketizerPacket& packet, std::span<const rtp::Unit> units,
                        std::vector<media::SourcePackets>& result) {
    result.assign(units.size(), {});
    if (packet.after_hole) reset();
    bool added = packet.payload.empty();
    bool given = false;  // the packet belongs to a unit already
    for (size_t i = 0; i < units.size(); ++i) {
        if (units[i].frame.sequence_header) continue;
        if (given) {
            result[i] = media::SourcePackets::of_earlier_frame();
            continue;
        }
        if (!added && units[i].timestamp == packet.timestamp) {
            add(packet);
            added = true;
        }
        given = give(units[i], units, result[i]) && added;
        reset();
    }
    if (!added) add(packet);
}

void PacketKeeper::add(const rtp::DepacketizerPacket& packet) {
    if (any_ && packet.timestamp != timestamp_) reset();
    any_ = true;
    timestamp_ = packet.timestamp;
    unusable_ |= std::exchange(begins_, false) || packet.payload.size() > kMaxPayload ||
                 packets_.bytes() > rtp::Depacketizer::kMaxUnit;
    if (unusable_) return packets_.clear();
    if (count_++ == 0) packets_.reserve(expected_bytes_);
    payload_bytes_ += packet.payload.size();
    packets_.append(packet.payload, packet.marker);
}

bool PacketKeeper::give(const rtp::Unit& unit, std::span<const rtp::Unit> units, media::SourcePackets& to) {
    if (!any_ || unusable_ || unit.timestamp != timestamp_) return false;
    if (codec_ == Codec::kAac) {
        if (has_adts(units)) return false;
    } else if (packets_.bytes() > 2 * unit.frame.payload.size() + kMaxBeside) {
        return false;
    }
    // A player may begin with a keyframe.
    if (unit.frame.keyframe && has_parameter_sets(codec_) && !has_sets()) return false;
    expected_bytes_ = packets_.bytes();
    to = std::exchange(packets_, {});
    return true;
}

bool PacketKeeper::has_sets() const {
    size_t at = 0;
    while (const auto packet = packets_.next(at))
        if (rtp::has_sequence_parameter_set(codec_, packet->payload)) return true;
    return false;
}

// RFC 3640, AAC-hbr: an AU header of two bytes for each access unit, or the one of a fragmented unit in each packet.
// Where the units are smaller than what the packets have beside headers, ADTS headers were removed.
bool PacketKeeper::has_adts(std::span<const rtp::Unit> units) const {
    size_t count = 0, bytes = 0;
    for (const rtp::Unit& unit : units) {
        if (unit.frame.sequence_header) continue;
        ++count;
        bytes += unit.frame.payload.size();
    }
    return payload_bytes_ != bytes + 2 * count_ + 2 * std::max(count, count_);
}

}  // namespace convert
