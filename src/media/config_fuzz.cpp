// Fuzzes every parser of a decoder configuration or frame header; the first byte of the input selects the parser.
#include <cstddef>
#include <cstdint>

#include "media/aac.h"
#include "media/access_unit.h"
#include "media/audio_headers.h"
#include "media/av1.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/nalu.h"
#include "media/track.h"
#include "media/vpx.h"

namespace {

template <class T>
void use(const base::Result<T>& result) {
    if (!result) CHECK(!result.error().text().empty());
}

void config_round_trips(std::span<const uint8_t> bytes) {
    if (auto config = media::parse_avc_config(bytes); config && !config->sps.empty() && !config->pps.empty()) {
        if (auto made = media::make_avc_config(config->sps[0], config->pps[0])) CHECK(media::parse_avc_config(*made));
    }
    auto hevc = media::parse_hevc_config(bytes);
    if (hevc && !hevc->vps.empty() && !hevc->sps.empty() && !hevc->pps.empty()) {
        if (auto made = media::make_hevc_config(hevc->vps[0], hevc->sps[0], hevc->pps[0])) {
            CHECK(media::parse_hevc_config(*made));
        }
    }
}

void annex_b(std::span<const uint8_t> bytes) {
    media::AnnexBReader reader(bytes);
    size_t total = 0;
    base::SliceBuilder out;
    while (auto unit = reader.next()) {
        total += unit->size();
        media::append_length_prefixed(out, *unit);
    }
    CHECK(total <= bytes.size());
    if (total) CHECK(media::read_access_unit(media::Codec::kH264, out.bytes(), 4, true));
}

void adts(std::span<const uint8_t> bytes) {
    auto config = media::parse_aac_config(bytes);
    use(config);
    uint8_t out[media::kAdtsHeaderSize];
    if (config && media::put_adts_header(*config, bytes.size(), out)) {
        auto header = media::parse_adts(out);
        CHECK(header && header->frame_size == bytes.size() + media::kAdtsHeaderSize);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    std::span<const uint8_t> bytes(data + 1, size - 1);
    media::Frame frame;
    frame.codec = static_cast<media::Codec>(data[0] % (static_cast<int>(media::Codec::kAmf0) + 1));
    frame.kind = media::codec_info(frame.codec).kind;
    frame.sequence_header = data[0] & 0x80;
    frame.payload = base::Slice::copy(bytes);
    use(media::video_info(frame));
    use(media::audio_info(frame));
    const bool hevc = data[0] & 0x40;
    use(media::read_access_unit(hevc ? media::Codec::kHevc : media::Codec::kH264, bytes, data[0] % 4 + 1, hevc));
    use(media::parse_h264_sps(bytes));
    use(media::parse_hevc_sps(bytes));
    use(media::parse_adts(bytes));
    config_round_trips(bytes);
    annex_b(bytes);
    adts(bytes);
    return 0;
}
