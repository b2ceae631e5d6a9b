#include "protocol/rtp/payload/latm_payload.h"

#include <algorithm>

namespace rtp {

using base::BitReader;
using base::Code;
using base::fail;
using base::Result;

namespace {

// The longest AudioSpecificConfig: a program_config_element with its comment.
constexpr size_t kMaxAacConfig = 320;

// The AudioSpecificConfig at the reader's position, which is seldom that of a byte.
Result<base::Slice> read_aac_config(BitReader& b) {
    BitReader ahead = b;
    std::vector<uint8_t> bytes(std::min(kMaxAacConfig, (b.bits_left() + 7) / 8));
    size_t left = b.bits_left();
    for (uint8_t& byte : bytes) {
        int count = static_cast<int>(std::min<size_t>(8, left));
        byte = static_cast<uint8_t>(ahead.bits(count) << (8 - count));
        left -= static_cast<size_t>(count);
    }
    auto config = TRY(media::parse_aac_config(bytes));
    b.skip(config.bits);
    if (!b.ok()) return fail(Code::kProtocol, "too short");
    bytes.resize((config.bits + 7) / 8);
    if (config.bits % 8) bytes.back() = static_cast<uint8_t>(bytes.back() & 0xff << (8 - config.bits % 8));
    return base::Slice::copy(bytes);
}

constexpr uint32_t kSyncExtension = 0x2b7;  // 11 bits

// 1.7.3.1, table 1.42.
Result<StreamMuxConfig> parse_config(BitReader& b, bool of_description) {
    StreamMuxConfig config;
    if (b.bit()) return fail(Code::kProtocol, "StreamMuxConfig: audioMuxVersion 1 is not supported");
    if (!b.bit()) return fail(Code::kProtocol, "StreamMuxConfig: streams of different framing are not supported");
    config.frames = static_cast<int>(b.bits(6)) + 1;
    if (b.bits(4) != 0 || b.bits(3) != 0)
        return fail(Code::kProtocol, "StreamMuxConfig: several programs or layers are not supported");
    config.aac_config = TRY(read_aac_config(b), "StreamMuxConfig");
    // GStreamer's ends here, or has an extension of the AudioSpecificConfig (SBR), whose place is not here.
    constexpr size_t kRest = 3 + 8 + 1 + 1;
    if (b.bits_left() < kRest) return config;
    if (BitReader ahead = b; of_description && ahead.bits(11) == kSyncExtension) return config;
    if (b.bits(3) != 0) return fail(Code::kProtocol, "StreamMuxConfig: frames of fixed length are not supported");
    b.skip(8);  // latmBufferFullness
    if (b.bit()) {
        bool more;
        do {
            more = b.bit();
            if (config.other_bits >> 20) return fail(Code::kProtocol, "StreamMuxConfig: too much other data");
            config.other_bits = config.other_bits << 8 | b.bits(8);
        } while (more && b.ok());
    }
    if (b.bit()) b.skip(8);  // CRC
    if (!b.ok()) return fail(Code::kProtocol, "StreamMuxConfig: too short");
    return config;
}

}  // namespace

Result<StreamMuxConfig> parse_stream_mux_config(std::span<const uint8_t> config) {
    BitReader b(config);
    return parse_config(b, true);
}

Result<StreamMuxConfig> parse_stream_mux_config(BitReader& b) { return parse_config(b, false); }

LatmDepacketizer::LatmDepacketizer(const PayloadFormat& format)
    : in_band_(format.latm_config_in_band), units_(format.clock_rate) {
    if (format.latm_config.empty()) return;
    auto config = parse_stream_mux_config(format.latm_config);
    if (config && units_.set_config(config->aac_config)) config_ = *std::move(config);
}

bool LatmDepacketizer::defective(std::string_view defect) {
    counters_.defect = defect;
    return false;
}

void LatmDepacketizer::push(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    if (packet.after_hole) (open_ ? damaged_ : uncertain_) = true;
    if (packet.payload.empty()) return;
    if (open_ && packet.timestamp != timestamp_) finish(out);
    if (!std::exchange(open_, true)) {
        timestamp_ = packet.timestamp;
        element_.clear();
        // The beginning of an element cannot be told from its middle. With a marker it is most likely whole.
        damaged_ = std::exchange(uncertain_, false) && !packet.marker;
    }
    if (element_.size() + packet.payload.size() > kMaxElement) damaged_ = true;
    if (!damaged_) element_.insert(element_.end(), packet.payload.begin(), packet.payload.end());
    if (packet.marker) finish(out);
}

void LatmDepacketizer::finish(std::vector<Unit>& out) {
    open_ = false;
    if (damaged_) {
        ++counters_.damaged;
    } else if (!take_element(out)) {
        ++counters_.malformed;
    }
}

// AudioMuxElement (1.7.3.1, table 1.41).
bool LatmDepacketizer::take_element(std::vector<Unit>& out) {
    BitReader b(element_);
    if (in_band_ && !b.bit()) {
        auto config = parse_stream_mux_config(b);
        if (!config || !units_.set_config(config->aac_config)) return defective("an invalid StreamMuxConfig");
        config_ = *std::move(config);
    }
    if (!config_) {
        ++counters_.undecodable;
        return true;
    }
    for (int i = 0; i < config_->frames; ++i) {
        size_t size = 0;
        uint32_t part;
        do {
            part = b.bits(8);
            size += part;
        } while (part == 255 && b.ok());
        if (!b.ok() || size * 8 > b.bits_left()) return defective("a frame runs past the end of its AudioMuxElement");
        frame_.resize(size);
        for (uint8_t& byte : frame_) byte = static_cast<uint8_t>(b.bits(8));
        units_.append(frame_, timestamp_ + units_.offset(static_cast<size_t>(i)), out);
    }
    return true;
}

}  // namespace rtp
