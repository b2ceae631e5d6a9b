#include "protocol/rtp/payload/nalu_packetizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/nalu.h"

namespace rtp {

using base::Code;
using base::fail;
using base::Result;

NaluPacketizer::NaluPacketizer(media::Codec codec, const PacketizerOptions& options)
    : Packetizer(options), codec_(codec), format_(codec == media::Codec::kH264 ? kH264Format : kHevcFormat) {
    CHECK(options.max_payload >= 64 && options.max_payload <= 0xffff);
}

Result<void> NaluPacketizer::set_header(const media::Frame& header) {
    if (header.codec != codec_) return fail(Code::kProtocol, "a sequence header of another codec");
    std::vector<Nalu> sets;
    auto add = [&](const std::vector<Nalu>& units) { sets.insert(sets.end(), units.begin(), units.end()); };
    int length_size = 0;
    if (codec_ == media::Codec::kH264) {
        auto config = TRY(media::parse_avc_config(header.payload));
        add(config.sps);
        add(config.pps);
        length_size = config.nalu_length_size;
    } else {
        auto config = TRY(media::parse_hevc_config(header.payload));
        add(config.vps);
        add(config.sps);
        add(config.pps);
        length_size = config.nalu_length_size;
    }
    header_ = header.payload;
    parameter_sets_ = std::move(sets);
    nalu_length_size_ = length_size;
    return {};
}

// Collects the NAL units of the frame that are to be sent.
Result<void> NaluPacketizer::collect(const media::Frame& frame) {
    nalus_.clear();
    if (nalu_length_size_ == 0) return fail(Code::kProtocol, "a frame before the sequence header");
    media::NaluReader reader(frame.payload, nalu_length_size_);
    bool has_sps = false;
    while (auto nalu = reader.next()) {
        uint8_t type = format_.type(*nalu);
        if (type > format_.max_single || format_.is_needless(type)) continue;
        if (format_.is_sei(type) && !options_.keep_sei) continue;
        has_sps |= type == format_.sps;
        nalus_.push_back(*nalu);
    }
    if (!reader.ok()) return fail(Code::kProtocol, "a NAL unit runs past the end of its frame");
    if (frame.keyframe && !has_sps && !nalus_.empty())
        nalus_.insert(nalus_.begin(), parameter_sets_.begin(), parameter_sets_.end());
    return {};
}

// Encoders put a few bytes of SEI before each picture: in its own packet it would cost as much per viewer as a packet
// of the picture.
bool NaluPacketizer::ends_packet(Nalu nalu) const {
    if (options_.single_nalus) return true;
    const uint8_t type = format_.type(nalu);
    return !options_.merge_nalus && !format_.is_parameter_set(type) && !format_.is_sei(type);
}

// How many units, starting with `first`, go into one packet.
size_t NaluPacketizer::group_size(size_t first) const {
    size_t count = 0;
    size_t size = format_.header_size;
    for (size_t i = first; i < nalus_.size(); ++i) {
        size += 2 + nalus_[i].size();
        if (size > options_.max_payload) break;
        ++count;
        if (ends_packet(nalus_[i])) break;
    }
    return std::max<size_t>(count, 1);
}

void NaluPacketizer::put_group(size_t first, size_t count) {
    begin_payload();
    if (count == 1) {
        append(nalus_[first]);
        return end_payload();
    }
    // The header gets the highest importance, and for HEVC the lowest layer and temporal id, of the units.
    uint8_t head[2] = {0, 0xff};
    for (size_t i = first; i < first + count; ++i) {
        head[0] = std::max<uint8_t>(head[0], nalus_[i][0] & 0x60);
        if (format_.header_size == 2) head[1] = std::min(head[1], nalus_[i][1]);
    }
    head[0] = format_.header_size == 1 ? static_cast<uint8_t>(head[0] | format_.aggregate)
                                       : static_cast<uint8_t>(format_.aggregate << 1);
    append(std::span(head, format_.header_size));
    for (size_t i = first; i < first + count; ++i) {
        base::put_u16(extend(2), static_cast<uint32_t>(nalus_[i].size()));
        append(nalus_[i]);
    }
    end_payload();
}

void NaluPacketizer::put_fragments(Nalu nalu) {
    uint8_t type = format_.type(nalu);
    uint8_t head[3];
    if (format_.header_size == 1) {
        head[0] = static_cast<uint8_t>((nalu[0] & 0xe0) | format_.fragment);
    } else {
        head[0] = static_cast<uint8_t>((nalu[0] & 0x81) | format_.fragment << 1);
        head[1] = nalu[1];
    }
    uint8_t& flags = head[format_.header_size];
    Nalu body = nalu.subspan(format_.header_size);
    size_t room = options_.max_payload - format_.fragment_header_size();
    size_t count = (body.size() + room - 1) / room;
    size_t step = (body.size() + count - 1) / count;
    for (size_t at = 0; at < body.size(); at += step) {
        bool last = at + step >= body.size();
        flags = static_cast<uint8_t>(type | (at == 0 ? 0x80 : 0) | (last ? 0x40 : 0));
        begin_payload();
        append(std::span(head, format_.fragment_header_size()));
        append(body.subspan(at, std::min(step, body.size() - at)));
        end_payload();
    }
}

Result<void> NaluPacketizer::write_payloads(const media::Frame& frame) {
    TRY(collect(frame));
    if (nalus_.empty()) return {};
    size_t total = 0, payloads = 0;
    for (Nalu nalu : nalus_) {
        size_t parts = 1 + nalu.size() / (options_.max_payload - 3);
        payloads += parts;
        total += nalu.size() + 2 + 4 * parts;
    }
    reserve(total, payloads);
    for (size_t i = 0; i < nalus_.size();) {
        size_t count = 1;
        if (nalus_[i].size() <= options_.max_payload) {
            count = group_size(i);
            put_group(i, count);
        } else if (options_.single_nalus) {
            return fail(Code::kLimit, fmt::format("a NAL unit of {} bytes; without fragments at most {}",
                                                  nalus_[i].size(), options_.max_payload));
        } else {
            put_fragments(nalus_[i]);
        }
        i += count;
    }
    set_marker();
    return {};
}

}  // namespace rtp
