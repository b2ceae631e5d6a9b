#include "protocol/rtp/payload/av1_payload.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "media/av1.h"
#include "protocol/rtp/payload/video_unit.h"

namespace rtp {

using base::Code;
using base::fail;
using base::Result;
namespace av1 = media::av1;

namespace {

// The aggregation header (4.4).
constexpr uint8_t kContinues = 0x80, kGoesOn = 0x40, kNewSequence = 0x08;
constexpr uint8_t kHasSize = 0x02, kHasExtension = 0x04;
// With less room than this, the next element starts in a new packet.
constexpr size_t kLeastRoom = 4;

uint8_t type_of(uint8_t header) { return header >> 3 & 15; }
bool is_left_out(uint8_t type) { return type == av1::kTemporalDelimiter || type == av1::kTileList; }

std::optional<uint32_t> read_leb128(base::ByteReader& r) {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
        uint8_t byte = r.u8();
        value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
        if (byte & 0x80) continue;
        if (!r.ok() || value > UINT32_MAX) return std::nullopt;
        return static_cast<uint32_t>(value);
    }
    return std::nullopt;
}

}  // namespace

bool begins_av1_sequence(std::span<const uint8_t> payload) {
    if (payload.size() < 2 || payload[0] & kContinues) return false;
    if (payload[0] & kNewSequence) return true;
    base::ByteReader r(payload.subspan(1));
    if ((payload[0] >> 4 & 3) != 1 && !read_leb128(r)) return false;
    return r.left() > 0 && type_of(r.u8()) == av1::kSequenceHeader;
}

void Av1Packetizer::Element::copy(size_t from, size_t count, uint8_t* to) const {
    for (; from < head_size && count > 0; --count) *to++ = head[from++];
    if (count > 0) std::memcpy(to, body.data() + (from - head_size), count);
}

Result<void> Av1Packetizer::set_header(const media::Frame& header) {
    TRY(media::parse_av1_config(header.payload));
    header_ = header.payload;
    return {};
}

Result<void> Av1Packetizer::collect(std::span<const uint8_t> obus, bool& has_sequence) {
    media::ObuReader reader(obus);
    const uint8_t* at = obus.data();
    while (auto obu = reader.next()) {
        bool extended = at[0] & kHasExtension;
        Element element{
            {static_cast<uint8_t>(at[0] & ~kHasSize), extended ? at[1] : uint8_t{0}}, extended ? 2u : 1u, obu->payload};
        at = obu->payload.data() + obu->payload.size();
        if (is_left_out(obu->type)) continue;
        has_sequence |= obu->type == av1::kSequenceHeader;
        elements_.push_back(element);
    }
    if (!reader.ok()) return fail(Code::kProtocol, "AV1: an OBU runs past the end of its frame");
    return {};
}

// The payload size at which the packets of a frame have equal sizes.
size_t Av1Packetizer::even_size() const {
    size_t total = 0;
    for (const Element& element : elements_) total += element.size() + media::leb128_size(0xffff);
    size_t room = options_.max_payload - kLeastRoom;
    size_t count = (total + room - 1) / room;
    return std::min((total + count - 1) / count + kLeastRoom, options_.max_payload);
}

void Av1Packetizer::put_packets(bool keyframe) {
    const size_t size = even_size();
    uint8_t head = keyframe ? kNewSequence : 0;
    size_t i = 0, from = 0;
    while (i < elements_.size()) {
        begin_payload();
        *extend(1) = head;
        head = 0;
        size_t room = size - 1;
        while (i < elements_.size() && room >= kLeastRoom) {
            size_t left = elements_[i].size() - from;
            size_t part = std::min(left, room - media::leb128_size(static_cast<uint32_t>(room)));
            size_t length = media::leb128_size(static_cast<uint32_t>(part));
            media::put_leb128(extend(length), static_cast<uint32_t>(part));
            elements_[i].copy(from, part, extend(part));
            room -= length + part;
            from += part;
            if (from < elements_[i].size()) continue;
            ++i;
            from = 0;
        }
        if (from > 0) {
            first_byte() |= kGoesOn;
            head = kContinues;
        }
        end_payload();
    }
}

Result<void> Av1Packetizer::write_payloads(const media::Frame& frame) {
    if (frame.sequence_header) return {};
    elements_.clear();
    bool has_sequence = false;
    TRY(collect(frame.payload, has_sequence));
    if (elements_.empty()) return {};
    if (frame.keyframe && !has_sequence && header_.size() > 4) {
        auto own = std::move(elements_);
        elements_.clear();
        TRY(collect(header_.bytes().subspan(4), has_sequence));
        elements_.insert(elements_.end(), own.begin(), own.end());
    }
    size_t total = 0;
    for (const Element& element : elements_) total += element.size() + 8;
    reserve(total + total / 8, 2 + total / (options_.max_payload - 8));
    put_packets(frame.keyframe);
    set_marker();
    return {};
}

void Av1Depacketizer::push(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    if (packet.after_hole && open_) damaged_ = true;
    if (packet.payload.empty()) {
        if (packet.after_hole && !open_) uncertain_ = true;
        return;
    }
    if (open_ && packet.timestamp != timestamp_) finish(out);
    if (!open_) {
        open_ = true;
        timestamp_ = packet.timestamp;
        in_part_ = false;
        elements_ = 0;
        body_.clear();
        sequence_.clear();
        // Nothing marks the first packet of a unit except the marker before it.
        damaged_ = (packet.after_hole || uncertain_) && !begins_av1_sequence(packet.payload);
        uncertain_ = false;
    }
    if (!damaged_ && !take(packet.payload)) {
        ++counters_.malformed;
        damaged_ = true;
    }
    if (packet.marker) finish(out);
}

void Av1Depacketizer::drop() {
    damaged_ = true;
    in_part_ = false;
    for (auto* bytes : {&part_, &body_, &sequence_}) std::vector<uint8_t>().swap(*bytes);
}

bool Av1Depacketizer::take(std::span<const uint8_t> payload) {
    base::ByteReader r(payload);
    uint8_t head = r.u8();
    int count = head >> 4 & 3;  // 0: every element has a length, else the last one has none
    bool continues = head & kContinues;
    if (continues != in_part_ || r.left() == 0) return false;
    for (int i = 1; r.left() > 0; ++i) {
        size_t size = r.left();
        if (count == 0 || i < count) {
            auto length = read_leb128(r);
            if (!length || *length > r.left()) return false;
            size = *length;
        }
        auto element = r.bytes(size);
        bool goes_on = r.left() == 0 && head & kGoesOn;
        if (!take_element(element, continues, goes_on)) return false;
        continues = false;
    }
    return true;
}

bool Av1Depacketizer::take_element(std::span<const uint8_t> element, bool continues, bool goes_on) {
    if (!continues) part_.clear();
    if (body_.size() + part_.size() + element.size() + 8 > kMaxUnit || elements_ >= kMaxElements) return false;
    part_.insert(part_.end(), element.begin(), element.end());
    in_part_ = goes_on;
    return goes_on || end_element();
}

// Appends a complete OBU to the unit, with its size.
bool Av1Depacketizer::end_element() {
    ++elements_;
    if (part_.empty()) return true;
    base::ByteReader r(part_);
    uint8_t header = r.u8();
    uint8_t extension = header & kHasExtension ? r.u8() : 0;
    if (header & 0x80) return false;
    if (header & kHasSize) {
        auto size = read_leb128(r);
        if (!size || *size != r.left()) return false;
    }
    if (!r.ok()) return false;
    if (is_left_out(type_of(header))) return true;
    if (type_of(header) == av1::kSequenceHeader) sequence_.assign(r.rest().begin(), r.rest().end());
    auto size = static_cast<uint32_t>(r.left());
    size_t at = body_.size();
    size_t head = (header & kHasExtension ? 2 : 1) + media::leb128_size(size);
    body_.resize(at + head);
    uint8_t* p = body_.data() + at;
    *p++ = static_cast<uint8_t>(header | kHasSize);
    if (header & kHasExtension) *p++ = extension;
    media::put_leb128(p, size);
    body_.insert(body_.end(), r.rest().begin(), r.rest().end());
    return true;
}

void Av1Depacketizer::finish(std::vector<Unit>& out) {
    open_ = false;
    if (in_part_) damaged_ = true;
    if (damaged_) {
        ++counters_.damaged;
        return;
    }
    if (body_.empty()) return;
    if (!sequence_.empty() &&
        !use_config(media::make_av1_config(sequence_), config_, media::Codec::kAv1, timestamp_, counters_, out))
        return;
    if (config_.empty()) {
        ++counters_.undecodable;
        return;
    }
    bool keyframe = !sequence_.empty();  // a sequence header is sent with keyframes (AV1 Bitstream, 7.5)
    out.push_back(video_unit(media::Codec::kAv1, base::Slice::copy(body_), keyframe, timestamp_));
}

}  // namespace rtp
