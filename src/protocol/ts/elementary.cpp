#include "protocol/ts/elementary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "media/audio_headers.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/nalu.h"
#include "protocol/ts/program.h"

namespace ts {
namespace {

using base::Code;
using base::fail;
using base::Result;
using media::Codec;

// All start codes have four bytes: they replace length prefixes, which usually have the same size.
constexpr uint8_t kStartCode[] = {0, 0, 0, 1};
// The delimiter (for any picture type) and the start code of the first unit.
constexpr uint8_t kAvcPrefix[] = {0, 0, 0, 1, 0x09, 0xf0, 0, 0, 0, 1};
constexpr uint8_t kHevcPrefix[] = {0, 0, 0, 1, 0x46, 0x01, 0x50, 0, 0, 0, 1};

std::span<const uint8_t> prefix_of(Codec codec) {
    if (codec == Codec::kHevc) return kHevcPrefix;
    return kAvcPrefix;
}

void append_units(std::vector<uint8_t>& out, const std::vector<std::span<const uint8_t>>& units) {
    for (auto unit : units) {
        out.insert(out.end(), unit.begin(), unit.end());
        out.insert(out.end(), std::begin(kStartCode), std::end(kStartCode));
    }
}

enum class Role { kDelimiter, kParameters, kOther };

Role role_of(Codec codec, std::span<const uint8_t> unit) {
    if (codec == Codec::kHevc) {
        uint8_t type = media::h265::nalu_type(unit);
        if (type == media::h265::kAud) return Role::kDelimiter;
        return type == media::h265::kSps ? Role::kParameters : Role::kOther;
    }
    uint8_t type = media::h264::nalu_type(unit);
    if (type == media::h264::kAud) return Role::kDelimiter;
    return type == media::h264::kSps ? Role::kParameters : Role::kOther;
}

// "Opus in MPEG-TS": a prefix of eleven bits, no trimming, the size as a sum of bytes.
constexpr size_t kMaxOpusFrame = 255 * (AudioElementary::kMaxHeader - 3) - 1;

size_t put_opus_header(uint8_t* out, size_t size) {
    uint8_t* p = base::put_u16(out, 0x7fe0);
    for (; size >= 255; size -= 255) *p++ = 255;
    *p++ = static_cast<uint8_t>(size);
    return static_cast<size_t>(p - out);
}

}  // namespace

Result<void> VideoElementary::set_header(const media::Frame& header) {
    codec_ = Codec::kNone;
    auto prefix = prefix_of(header.codec);
    std::vector<uint8_t> all(prefix.begin(), prefix.end());
    if (header.codec == Codec::kH264) {
        auto config = TRY(media::parse_avc_config(header.payload));
        nalu_length_size_ = config.nalu_length_size;
        append_units(all, config.sps);
        append_units(all, config.pps);
    } else if (header.codec == Codec::kHevc) {
        auto config = TRY(media::parse_hevc_config(header.payload));
        nalu_length_size_ = config.nalu_length_size;
        append_units(all, config.vps);
        append_units(all, config.sps);
        append_units(all, config.pps);
    } else {
        return fail(Code::kProtocol, fmt::format("{} is not carried in MPEG-TS", media::codec_info(header.codec).name));
    }
    codec_ = header.codec;
    keyframe_prefix_ = std::move(all);
    return {};
}

size_t VideoElementary::append(const media::Frame& frame, Pieces& pieces) const {
    if (frame.codec != codec_ || codec_ == Codec::kNone) return 0;
    size_t first = pieces.size(), bytes = 0;
    bool own_parameters = false;
    media::NaluReader reader(frame.payload, nalu_length_size_);
    for (auto unit = reader.next(); unit; unit = reader.next()) {
        Role role = role_of(codec_, *unit);
        if (role == Role::kDelimiter) continue;
        own_parameters |= role == Role::kParameters;
        pieces.push_back(kStartCode);
        pieces.push_back(*unit);
        bytes += unit->size() + sizeof kStartCode;
        if (pieces.size() - first > 2 * kMaxUnits) {
            pieces.resize(first);
            return 0;
        }
    }
    if (bytes == 0) return 0;
    // The prefix ends with the first start code.
    auto prefix = prefix_of(codec_);
    if (frame.keyframe && !own_parameters) prefix = keyframe_prefix_;
    pieces[first] = prefix;
    return bytes - sizeof kStartCode + prefix.size();
}

Result<void> AudioElementary::set_header(const media::Frame& header) {
    codec_ = Codec::kNone;
    if (!carries(header.codec))
        return fail(Code::kProtocol, fmt::format("{} is not carried in MPEG-TS", media::codec_info(header.codec).name));
    if (header.codec == Codec::kAac) {
        aac_ = TRY(media::parse_aac_config(header.payload));
        if (aac_.object_type > 4)
            return fail(Code::kProtocol, fmt::format("AAC of object type {} has no ADTS form", aac_.object_type));
    }
    if (header.codec == Codec::kOpus) {
        auto config = TRY(media::parse_opus_head(header.payload));
        opus_channels_ = static_cast<uint8_t>(std::min(config.channels, 8));
    }
    codec_ = header.codec;
    return {};
}

void AudioElementary::set_codec(Codec codec) {
    if (media::codec_info(codec).has_sequence_header) return;
    codec_ = carries(codec) ? codec : Codec::kNone;
}

bool AudioElementary::update(const media::Frame& frame) {
    const Codec codec = codec_;
    if (frame.codec != codec_) set_codec(frame.codec);
    if (codec_ != Codec::kMp3 || frame.payload.size() < 2) return codec_ != codec;
    // The version bits: 3 is MPEG-1.
    const bool low_rate = (frame.payload[1] >> 3 & 3) != 3;
    const bool changed = codec_ != codec || low_rate != low_rate_mp3_;
    low_rate_mp3_ = low_rate;
    return changed;
}

std::optional<size_t> AudioElementary::put_header(const media::Frame& frame, uint8_t out[kMaxHeader]) const {
    size_t size = frame.payload.size();
    if (frame.codec != codec_ || codec_ == Codec::kNone || size == 0 || size > kMaxFrame) return std::nullopt;
    if (codec_ == Codec::kOpus) {
        if (size > kMaxOpusFrame) return std::nullopt;
        return put_opus_header(out, size);
    }
    if (codec_ != Codec::kAac) return 0;
    if (!media::put_adts_header(aac_, size, out)) return std::nullopt;
    return media::kAdtsHeaderSize;
}

}  // namespace ts
