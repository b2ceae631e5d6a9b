#include "protocol/rtp/payload/mpeg_audio_payload.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "media/audio_headers.h"

namespace rtp {

using base::Code;
using base::fail;
using base::Result;

namespace {
constexpr size_t kHeaderSize = 4;  // 16 bits that are 0, and the offset of a fragment
}

Result<void> MpegAudioPacketizer::write_payloads(const media::Frame& frame) {
    const size_t size = frame.payload.size();
    if (size == 0 || frame.sequence_header) return {};
    if (size > 0xffff) return fail(Code::kProtocol, fmt::format("an MP3 frame of {} bytes", size));
    const size_t room = options_.max_payload - kHeaderSize;
    const size_t count = (size + room - 1) / room;
    const size_t step = (size + count - 1) / count;
    reserve(size + count * kHeaderSize, count);
    for (size_t at = 0; at < size; at += step) {
        begin_payload();
        base::put_u32(extend(kHeaderSize), static_cast<uint32_t>(at));
        append(frame.payload.bytes().subspan(at, std::min(step, size - at)));
        end_payload();
    }
    return {};
}

void MpegAudioDepacketizer::push(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    if (packet.after_hole) drop_fragment();
    if (packet.payload.empty()) return;
    if (!take(packet, out)) ++counters_.malformed;
}

bool MpegAudioDepacketizer::defective(std::string_view defect) {
    counters_.defect = defect;
    return false;
}

void MpegAudioDepacketizer::drop_fragment() {
    if (std::exchange(part_size_, 0) > 0) ++counters_.damaged;
    part_.clear();
}

bool MpegAudioDepacketizer::take(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    base::ByteReader r(packet.payload);
    r.skip(2);
    const size_t offset = r.u16();
    if (!r.ok() || r.left() == 0) return defective("no audio behind the header");
    if (offset > 0) return take_fragment(offset, r.rest(), packet.timestamp, out);
    drop_fragment();
    return take_frames(r.rest(), packet.timestamp, out);
}

bool MpegAudioDepacketizer::take_frames(std::span<const uint8_t> data, uint32_t timestamp, std::vector<Unit>& out) {
    uint64_t samples = 0;
    while (!data.empty()) {
        auto header = media::parse_mpeg_audio(data);
        if (!header) return defective("no MPEG audio frame");
        if (header->layer != 3) return defective("MPEG audio of layer I or II");
        const size_t size = header->frame_size > 0 ? header->frame_size : data.size();
        const auto rate = static_cast<uint64_t>(std::max(header->sample_rate, 1));
        const uint32_t time = timestamp + static_cast<uint32_t>(samples * clock_rate_ / rate);
        if (size > data.size()) {
            part_.assign(data.begin(), data.end());
            part_size_ = size;
            part_timestamp_ = time;
            return true;
        }
        append(data.first(size), time, out);
        data = data.subspan(size);
        samples += static_cast<uint64_t>(header->samples);
    }
    return true;
}

bool MpegAudioDepacketizer::take_fragment(size_t offset, std::span<const uint8_t> data, uint32_t timestamp,
                                          std::vector<Unit>& out) {
    if (part_size_ == 0) return true;  // its beginning was lost, which was counted
    if (offset != part_.size() || timestamp != part_timestamp_ || offset + data.size() > part_size_) {
        drop_fragment();
        return defective("a fragment that does not continue its frame");
    }
    part_.insert(part_.end(), data.begin(), data.end());
    if (part_.size() < part_size_) return true;
    append(part_, part_timestamp_, out);
    part_size_ = 0;
    part_.clear();
    return true;
}

void MpegAudioDepacketizer::append(std::span<const uint8_t> frame, uint32_t timestamp, std::vector<Unit>& out) {
    media::Frame unit;
    unit.kind = media::Kind::kAudio;
    unit.codec = media::Codec::kMp3;
    unit.payload = base::Slice::copy(frame);
    out.push_back({std::move(unit), timestamp});
}

}  // namespace rtp
