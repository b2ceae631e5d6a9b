#include "protocol/rtp/payload/vpx_payload.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "media/vpx.h"
#include "protocol/rtp/payload/video_unit.h"

namespace rtp {

using media::Codec;

namespace {

VpxDescriptor vp8_descriptor(std::span<const uint8_t> payload) {
    base::ByteReader r(payload);
    uint8_t first = r.u8();
    if (first & 0x80) {
        uint8_t extension = r.u8();
        if (extension & 0x80 && r.u8() & 0x80) r.skip(1);  // picture id of 7 or 15 bits
        if (extension & 0x40) r.skip(1);
        if (extension & 0x30) r.skip(1);
    }
    if (!r.ok() || r.left() == 0) return {};
    bool begins = first & 0x10 && (first & 7) == 0;  // of the first partition
    return {payload.size() - r.left(), begins, begins, false};
}

void skip_scalability(base::ByteReader& r) {
    uint8_t head = r.u8();
    int layers = (head >> 5) + 1;
    if (head & 0x10) r.skip(static_cast<size_t>(layers) * 4);
    if (!(head & 0x08)) return;
    int pictures = r.u8();
    for (int i = 0; i < pictures && r.ok(); ++i) r.skip(static_cast<size_t>(r.u8() >> 2 & 3));
}

VpxDescriptor vp9_descriptor(std::span<const uint8_t> payload) {
    base::ByteReader r(payload);
    uint8_t first = r.u8();
    bool predicted = first & 0x40, flexible = first & 0x10;
    uint8_t layer = 0;
    if (first & 0x80 && r.u8() & 0x80) r.skip(1);
    if (first & 0x20) {
        layer = r.u8() >> 1 & 7;
        if (!flexible) r.skip(1);
    }
    if (flexible && predicted) {
        int references = 0;
        while (r.u8() & 1 && r.ok())
            if (++references == 3) return {};
    }
    if (first & 0x02) skip_scalability(r);
    if (!r.ok() || r.left() == 0) return {};
    bool begins = first & 0x08;
    return {payload.size() - r.left(), begins, begins && layer == 0, predicted};
}

}  // namespace

VpxDescriptor parse_vpx_descriptor(Codec codec, std::span<const uint8_t> payload) {
    return codec == Codec::kVp8 ? vp8_descriptor(payload) : vp9_descriptor(payload);
}

base::Result<void> VpxPacketizer::write_payloads(const media::Frame& frame) {
    size_t size = frame.payload.size();
    if (size == 0 || frame.sequence_header) return {};
    bool vp8 = codec_ == Codec::kVp8;
    size_t head = vp8 ? 4 : 3;
    size_t room = options_.max_payload - head;
    size_t count = (size + room - 1) / room;
    size_t step = (size + count - 1) / count;
    reserve(size + count * head, count);
    for (size_t at = 0; at < size; at += step) {
        size_t part = std::min(step, size - at);
        bool first = at == 0, last = at + part == size;
        begin_payload();
        uint8_t* p = extend(head + part);
        if (vp8) {
            *p++ = static_cast<uint8_t>(0x80 | (first ? 0x10 : 0));
            *p++ = 0x80;
        } else {
            *p++ = static_cast<uint8_t>(0x80 | (frame.keyframe ? 0 : 0x40) | (first ? 0x08 : 0) | (last ? 0x04 : 0));
        }
        p = base::put_u16(p, picture_id_ | 0x8000u);
        std::copy_n(frame.payload.data() + at, part, p);
        end_payload();
    }
    set_marker();
    picture_id_ = (picture_id_ + 1) & 0x7fff;
    return {};
}

void VpxDepacketizer::push(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    if (packet.after_hole && open_) damaged_ = true;
    if (packet.payload.empty()) return;
    if (open_ && packet.timestamp != timestamp_) finish(out);
    take(packet);
    if (packet.marker) finish(out);
}

void VpxDepacketizer::take(const DepacketizerPacket& packet) {
    VpxDescriptor descriptor = parse_vpx_descriptor(codec_, packet.payload);
    if (!open_) {
        open_ = true;
        timestamp_ = packet.timestamp;
        body_.clear();
        damaged_ = !descriptor.begins_picture;  // the start of the picture was lost
    }
    if (descriptor.size == 0) {
        ++counters_.malformed;
        damaged_ = true;
    }
    if (body_.size() + packet.payload.size() > kMaxUnit) damaged_ = true;
    if (damaged_) return;
    auto data = packet.payload.subspan(descriptor.size);
    body_.insert(body_.end(), data.begin(), data.end());
}

void VpxDepacketizer::finish(std::vector<Unit>& out) {
    open_ = false;
    if (damaged_) {
        ++counters_.damaged;
        return;
    }
    auto header = codec_ == Codec::kVp8 ? media::parse_vp8_frame(body_) : media::parse_vp9_frame(body_);
    if (!header) {
        ++counters_.malformed;
        return;
    }
    if (codec_ == Codec::kVp9 && header->keyframe &&
        !use_config(media::make_vp9_config(body_), config_, codec_, timestamp_, counters_, out))
        return;
    if (codec_ == Codec::kVp9 && config_.empty()) {
        ++counters_.undecodable;
        return;
    }
    out.push_back(video_unit(codec_, base::Slice::copy(body_), header->keyframe, timestamp_));
}

}  // namespace rtp
