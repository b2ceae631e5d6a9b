#include "protocol/rtp/payload/nalu_depacketizer.h"

#include <cstring>

#include "base/bytes.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/nalu.h"
#include "protocol/rtp/payload/video_unit.h"

namespace rtp {

NaluDepacketizer::NaluDepacketizer(media::Codec codec)
    : codec_(codec), format_(codec == media::Codec::kH264 ? kH264Format : kHevcFormat) {}

void NaluDepacketizer::push(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    if (packet.after_hole && open_) damaged_ = true;
    bool lost_before = packet.after_hole;
    if (packet.payload.empty()) {
        // A probe: the packets lost before it may have been the start of the next unit.
        if (lost_before && !open_) uncertain_ = true;
        return;
    }
    if (open_ && packet.timestamp != timestamp_) finish(out);
    if (!open_) {
        begin(packet.timestamp);
        uncertain_ |= lost_before;
    }
    if (!damaged_ && !take(packet.payload)) {
        ++counters_.malformed;
        damaged_ = true;
    }
    if (packet.marker) finish(out);
}

size_t NaluDepacketizer::memory() const {
    if (!open_) return 0;
    size_t bytes = body_.capacity();
    for (const auto* sets : {&vps_, &sps_, &pps_})
        for (const Bytes& set : *sets) bytes += set.capacity();
    return bytes;
}

void NaluDepacketizer::drop() {
    damaged_ = true;
    in_fragment_ = false;
    for (auto* sets : {&vps_, &sps_, &pps_}) sets->clear();
    Bytes().swap(body_);
}

void NaluDepacketizer::begin(uint32_t timestamp) {
    open_ = true;
    timestamp_ = timestamp;
    damaged_ = has_slice_ = random_access_ = recovery_point_ = in_fragment_ = false;
    body_.clear();
    vps_.clear();
    sps_.clear();
    pps_.clear();
}

// Zeros begin no payload: type 0 is not specified for H.264, and HEVC's temporal id is never 0.
NaluDepacketizer::Nalu NaluDepacketizer::without_start_code(Nalu payload) {
    size_t zeros = 0;
    while (zeros < payload.size() && payload[zeros] == 0) ++zeros;
    if (zeros < 2 || zeros == payload.size() || payload[zeros] != 1) return payload;
    return payload.subspan(zeros + 1);
}

// False when the payload is invalid at this position.
bool NaluDepacketizer::take(Nalu payload) {
    if (payload[0] == 0) payload = without_start_code(payload);
    if (payload.empty()) return false;
    uint8_t type = format_.type(payload);
    if (type == format_.fragment) return take_fragment(payload);
    if (in_fragment_ && !end_fragment()) return false;  // its end is missing, though no packet was lost
    if (type == format_.aggregate) return take_aggregate(payload);
    return type <= format_.max_single && take_nalu(payload);
}

bool NaluDepacketizer::take_aggregate(Nalu payload) {
    base::ByteReader r(payload.subspan(format_.header_size));
    bool has_units = false;
    while (r.left() > 0) {
        Nalu nalu = r.bytes(r.u16());
        if (!r.ok()) return false;
        if (nalu.empty()) continue;
        if (format_.type(nalu) > format_.max_single || !take_nalu(nalu)) return false;
        has_units = true;
    }
    return has_units;
}

bool NaluDepacketizer::take_fragment(Nalu payload) {
    size_t head = format_.fragment_header_size();
    if (payload.size() <= head) return false;
    uint8_t flags = payload[head - 1];
    auto type = static_cast<uint8_t>(flags & (format_.header_size == 1 ? 0x1f : 0x3f));
    bool starts = flags & 0x80;
    if (starts && in_fragment_ && !end_fragment()) return false;
    if (starts == in_fragment_) return false;  // a middle without a start
    if (starts) {
        if (type > format_.max_single) return false;
        uint8_t nalu_head[2] = {static_cast<uint8_t>((payload[0] & 0xe0) | type), 0};
        if (format_.header_size == 2) {
            nalu_head[0] = static_cast<uint8_t>((payload[0] & 0x81) | type << 1);
            nalu_head[1] = payload[1];
        }
        in_fragment_ = true;
        fragment_type_ = type;
        fragment_at_ = body_.size();
        body_.resize(body_.size() + 4);
        append(Nalu(nalu_head, format_.header_size));
    } else if (type != fragment_type_) {
        return false;
    }
    if (body_.size() + payload.size() > kMaxUnit) return false;
    append(payload.subspan(head));
    return !(flags & 0x40) || end_fragment();
}

bool NaluDepacketizer::end_fragment() {
    in_fragment_ = false;
    Nalu nalu = Nalu(body_).subspan(fragment_at_ + 4);
    const bool is_several = may_have_start_codes(fragment_type_, nalu) && media::find_start_code(nalu) < nalu.size();
    if (is_several || format_.is_parameter_set(fragment_type_) || format_.is_needless(fragment_type_)) {
        Bytes copy(nalu.begin(), nalu.end());  // it is not part of the unit
        body_.resize(fragment_at_);
        return take_nalu(copy);
    }
    base::put_u32(body_.data() + fragment_at_, static_cast<uint32_t>(nalu.size()));
    return record_slice(fragment_type_, nalu);
}

// Within a NAL unit there is no start code (H.264 and HEVC, 7.4.1). Senders that put several units into one begin with
// a delimiter, a parameter set or SEI, or do so in keyframes; the units of others are not searched.
bool NaluDepacketizer::may_have_start_codes(uint8_t type, Nalu nalu) const {
    return has_start_codes_ || format_.is_random(type) || format_.is_parameter_set(type) || format_.is_sei(type) ||
           type == format_.aud || (nalu.size() > 2 && nalu[0] == 0 && nalu[1] == 0);
}

bool NaluDepacketizer::take_nalu(Nalu nalu) {
    if (nalu.size() < format_.header_size) return false;
    if (!may_have_start_codes(format_.type(nalu), nalu)) return take_one(nalu);
    const size_t code = media::find_start_code(nalu);
    return code == nalu.size() ? take_one(nalu) : take_byte_stream(nalu, code);
}

bool NaluDepacketizer::take_byte_stream(Nalu stream, size_t first_code) {
    has_start_codes_ = true;
    Nalu first = stream.first(first_code);
    while (!first.empty() && first.back() == 0) first = first.first(first.size() - 1);
    if (!first.empty() && !take_one(first)) return false;
    media::AnnexBReader units(stream.subspan(first_code));
    while (auto nalu = units.next())
        if (format_.type(*nalu) > format_.max_single || !take_one(*nalu)) return false;
    return true;
}

bool NaluDepacketizer::take_one(Nalu nalu) {
    if (nalu.size() < format_.header_size) return false;
    uint8_t type = format_.type(nalu);
    if (format_.is_needless(type)) return true;
    if (format_.is_parameter_set(type)) return record_parameter_set(type, nalu);
    if (format_.is_sei(type)) recovery_point_ |= media::is_recovery_point(codec_, nalu);
    if (body_.size() + nalu.size() + 4 > kMaxUnit) return false;
    size_t at = body_.size();
    body_.resize(at + 4);
    base::put_u32(body_.data() + at, static_cast<uint32_t>(nalu.size()));
    append(nalu);
    return record_slice(type, nalu);
}

bool NaluDepacketizer::record_parameter_set(uint8_t type, Nalu nalu) {
    auto& sets = type == format_.sps ? sps_ : type == format_.pps ? pps_ : vps_;
    if (sets.size() >= kMaxParameterSets || nalu.size() > kMaxParameterSet) return false;
    sets.emplace_back(nalu.begin(), nalu.end());
    return true;
}

bool NaluDepacketizer::record_slice(uint8_t type, Nalu nalu) {
    if (!format_.is_slice(type)) return true;
    // The packets lost before the unit may have been its first slices.
    if (!has_slice_ && uncertain_ && !format_.begins_picture(nalu)) damaged_ = true;
    has_slice_ = true;
    random_access_ |= format_.is_random(type);
    return true;
}

void NaluDepacketizer::finish(std::vector<Unit>& out) {
    open_ = false;
    uncertain_ = false;
    if (in_fragment_ && !damaged_ && !end_fragment()) {
        ++counters_.malformed;
        damaged_ = true;
    }
    if (damaged_) {
        ++counters_.damaged;
    } else {
        emit(out);
    }
    if (body_.capacity() > kKept) Bytes().swap(body_);
}

void NaluDepacketizer::emit(std::vector<Unit>& out) {
    if (!use_parameter_sets(out) || config_.empty()) {
        if (has_slice_) ++counters_.undecodable;
        return;
    }
    if (!has_slice_) return;
    const bool keyframe = recovery_points_.may_begin_at(random_access_, recovery_point_);
    out.push_back(video_unit(codec_, copy_payload(), keyframe, timestamp_));
}

void NaluDepacketizer::know(std::span<const std::vector<uint8_t>> sets) {
    begin(0);
    for (const Bytes& set : sets) {
        const uint8_t type = format_.type(set);
        if (format_.is_parameter_set(type)) record_parameter_set(type, set);
    }
    open_ = false;
    std::vector<Unit> unused;
    untold_ = use_parameter_sets(unused);
    if (!untold_) config_vps_ = config_sps_ = config_pps_ = {};
}

// Puts the first parameter set of each kind into the sequence header. False when they do not make a valid one.
bool NaluDepacketizer::use_parameter_sets(std::vector<Unit>& out) {
    bool changed = std::exchange(untold_, false);
    auto use = [&](std::vector<Bytes>& came, Bytes& active) {
        if (came.empty() || came.front() == active) return;
        active = came.front();
        changed = true;
    };
    use(vps_, config_vps_);
    use(sps_, config_sps_);
    use(pps_, config_pps_);
    bool complete = !config_sps_.empty() && !config_pps_.empty() && (!format_.vps || !config_vps_.empty());
    if (!changed || !complete) return complete;
    auto config = make_config();
    if (!config) {
        ++counters_.malformed;
        config_ = {};
        return false;
    }
    config_ = std::move(*config);
    out.push_back(config_unit(codec_, config_, timestamp_));
    return true;
}

base::Result<base::Slice> NaluDepacketizer::make_config() const {
    if (codec_ != media::Codec::kH264) return media::make_hevc_config(config_vps_, config_sps_, config_pps_);
    TRY(media::parse_h264_sps(config_sps_));
    return media::make_avc_config(config_sps_, config_pps_);
}

// Further parameter sets of a kind stay in the unit: the sequence header here contains only one of each.
base::Slice NaluDepacketizer::copy_payload() const {
    base::SliceBuilder payload(body_.size());
    for (const auto* sets : {&vps_, &sps_, &pps_})
        for (size_t i = 1; i < sets->size(); ++i) media::append_length_prefixed(payload, (*sets)[i]);
    payload.append(body_);
    return payload.freeze();
}

}  // namespace rtp
