#include "protocol/mp4/sample_entry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bits.h"
#include "media/aac.h"
#include "media/audio_headers.h"
#include "media/h265.h"
#include "media/track.h"
#include "media/vpx.h"
#include "protocol/mp4/box_writer.h"

namespace mp4 {

using base::Code;
using base::fail;
using base::Result;
using media::Codec;
using media::Frame;

namespace {

using Bytes = std::span<const uint8_t>;

// The fields of VisualSampleEntry (12.1.3.2).
void visual_fields(BoxWriter& w, int width, int height) {
    w.zeros(6);
    w.u16(1);  // data_reference_index
    w.zeros(16);
    w.u16(static_cast<uint16_t>(width));
    w.u16(static_cast<uint16_t>(height));
    w.u32(0x00480000);  // 72 dpi
    w.u32(0x00480000);
    w.u32(0);
    w.u16(1);     // frame_count
    w.zeros(32);  // compressorname
    w.u16(0x0018);
    w.u16(0xffff);
}

// The fields of AudioSampleEntry (12.2.3.2). A rate that does not fit in 16 bits is only in the configuration.
void audio_fields(BoxWriter& w, int channels, int sample_bits, int sample_rate) {
    w.zeros(6);
    w.u16(1);
    w.zeros(8);
    w.u16(static_cast<uint16_t>(channels));
    w.u16(static_cast<uint16_t>(sample_bits));
    w.u32(0);
    w.u32(sample_rate <= 0xffff ? static_cast<uint32_t>(sample_rate) << 16 : 0);
}

// The tag of a descriptor and its size (14496-1, 8.3.3).
void descriptor(BoxWriter& w, uint8_t tag, size_t size) {
    w.u8(tag);
    for (int shift = 21; shift > 0; shift -= 7) w.u8(static_cast<uint8_t>(0x80 | (size >> shift & 0x7f)));
    w.u8(static_cast<uint8_t>(size & 0x7f));
}

// ES_Descriptor in its box (14496-14, 6.7.2).
void esds(BoxWriter& w, uint8_t object_type, Bytes specific_info) {
    constexpr size_t kHead = 5;
    auto box = w.full_box("esds", 0, 0);
    size_t config = 13 + (specific_info.empty() ? 0 : kHead + specific_info.size());
    descriptor(w, 3, 3 + kHead + config + kHead + 1);
    w.u16(0);  // ES_ID: 0 in a file, the track's id is used
    w.u8(0);
    descriptor(w, 4, config);
    w.u8(object_type);
    w.u8(0x15);          // an audio stream
    w.zeros(3 + 4 + 4);  // buffer size, bit rates: unknown
    if (!specific_info.empty()) {
        descriptor(w, 5, specific_info.size());
        w.bytes(specific_info);
    }
    descriptor(w, 6, 1);
    w.u8(2);
}

// The type "hvc1" requires all parameter sets in the record, in arrays marked as complete. A record without parameter
// sets needs "hev1": the sets are in band (14496-15, 8.4.1.1).
bool has_all_sets(const media::HevcConfig& config) {
    return !config.vps.empty() && !config.sps.empty() && !config.pps.empty();
}

// Marks the arrays as complete. record: already validated by parse_hevc_config.
std::vector<uint8_t> with_complete_arrays(Bytes record) {
    std::vector<uint8_t> out(record.begin(), record.end());
    size_t at = 23;
    for (int arrays = out[22]; arrays > 0 && at + 3 <= out.size(); --arrays) {
        uint8_t type = out[at] & 0x3f;
        if (type >= media::h265::kVps && type <= media::h265::kPps) out[at] |= 0x80;
        int units = out[at + 1] << 8 | out[at + 2];
        at += 3;
        for (; units > 0 && at + 2 <= out.size(); --units) at += 2 + size_t{out[at]} * 256 + out[at + 1];
    }
    return out;
}

void config_box(BoxWriter& w, const char (&type)[5], Bytes record) {
    auto box = w.box(type);
    w.bytes(record);
}

Result<void> hevc_entry(BoxWriter& w, Bytes record, int width, int height) {
    bool complete = has_all_sets(TRY(media::parse_hevc_config(record)));
    auto box = complete ? w.box("hvc1") : w.box("hev1");
    visual_fields(w, width, height);
    config_box(w, "hvcC", complete ? with_complete_arrays(record) : std::vector<uint8_t>(record.begin(), record.end()));
    return {};
}

// The configuration of a stream without a VPCodecConfigurationRecord (VP8): 8 bits, 4:2:0, colors unspecified.
constexpr uint8_t kPlainVpConfig[] = {0, 0, 0x82, 2, 2, 2, 0, 0};

void vp_entry(BoxWriter& w, const Frame& header, int width, int height) {
    auto box = header.codec == Codec::kVp9 ? w.box("vp09") : w.box("vp08");
    visual_fields(w, width, height);
    auto config = w.full_box("vpcC", 1, 0);
    Bytes record = header.sequence_header ? header.payload.bytes() : Bytes(kPlainVpConfig);
    if (record.size() >= 12 && record[0] == 1 && record[1] == 0 && record[2] == 0 && record[3] == 0)
        record = record.subspan(4);
    w.bytes(record);
}

}  // namespace

Result<VideoEntry> video_entry(const Frame& header, const Frame* keyframe, VideoSize otherwise) {
    media::VideoInfo info = TRY(media::video_info(header));
    if (info.width == 0 && keyframe) {
        auto in_frame = media::video_info(*keyframe);
        if (in_frame) info = *in_frame;
    }
    auto [width, height] = info.width ? VideoSize{info.width, info.height} : otherwise;
    if (width > 0xffff || height > 0xffff) {
        return fail(Code::kProtocol, fmt::format("video of {}x{} is too large for MP4", width, height));
    }
    VideoEntry entry{{}, {width, height}};
    BoxWriter w(entry.box);
    if (header.codec == Codec::kHevc) {
        TRY(hevc_entry(w, header.payload, width, height));
    } else if (header.codec == Codec::kVp9 || header.codec == Codec::kVp8) {
        vp_entry(w, header, width, height);
    } else if (header.codec == Codec::kH264 || header.codec == Codec::kAv1) {
        bool avc = header.codec == Codec::kH264;
        auto box = avc ? w.box("avc1") : w.box("av01");
        visual_fields(w, width, height);
        avc ? config_box(w, "avcC", header.payload) : config_box(w, "av1C", header.payload);
    } else {
        return fail(Code::kRefused, fmt::format("{} is not supported in MP4", media::codec_info(header.codec).name));
    }
    return entry;
}

namespace {

Result<void> aac_entry(BoxWriter& w, const Frame& header, AudioEntry& entry) {
    media::AacConfig config = TRY(media::parse_aac_config(header.payload));
    entry.sample_rate = config.output_sample_rate;
    entry.frame_samples = static_cast<uint32_t>(int64_t{config.samples_per_frame} * config.output_sample_rate /
                                                std::max(1, config.core_sample_rate));
    auto box = w.box("mp4a");
    audio_fields(w, config.output_channels(), 16, entry.sample_rate);
    esds(w, 0x40, header.payload);
    return {};
}

Result<void> mp3_entry(BoxWriter& w, const Frame& frame, AudioEntry& entry) {
    media::MpegAudioHeader header = TRY(media::parse_mpeg_audio(frame.payload));
    entry.sample_rate = header.sample_rate;
    entry.frame_samples = static_cast<uint32_t>(header.samples);
    auto box = w.box("mp4a");
    audio_fields(w, header.channels, 16, entry.sample_rate);
    esds(w, header.version == 1 ? 0x6b : 0x69, {});
    return {};
}

// OpusSpecificBox: the content of OpusHead after its version, in big-endian order (Opus in ISOBMFF, 4.3.2).
Result<void> opus_entry(BoxWriter& w, const Frame& frame, AudioEntry& entry) {
    base::Slice head = frame.payload;
    if (!frame.sequence_header) head = media::make_opus_head(TRY(media::parse_opus_packet(head)).channels, 0, 48000);
    media::OpusConfig config = TRY(media::parse_opus_head(head));
    entry.sample_rate = 48000;
    auto box = w.box("Opus");
    audio_fields(w, config.channels, 16, 48000);
    auto dops = w.box("dOps");
    w.u8(0);
    w.u8(static_cast<uint8_t>(config.channels));
    w.u16(static_cast<uint16_t>(config.pre_skip));
    w.u32(static_cast<uint32_t>(config.input_sample_rate));
    w.u8(head[17]);  // gain
    w.u8(head[16]);
    w.bytes(head.bytes().subspan(18));  // mapping family and table
    return {};
}

Result<void> flac_entry(BoxWriter& w, const Frame& header, AudioEntry& entry) {
    constexpr size_t kStreamInfo = 34;
    media::FlacConfig config = TRY(media::parse_flac_config(header.payload));
    Bytes info = header.payload;
    if (header.payload.text().starts_with("fLaC")) info = info.subspan(4);
    if (info.size() >= kStreamInfo + 4 && (info[0] & 0x7f) == 0) info = info.subspan(4);
    entry.sample_rate = config.sample_rate;
    auto box = w.box("fLaC");
    audio_fields(w, config.channels, config.bits_per_sample, config.sample_rate);
    auto dfla = w.full_box("dfLa", 0, 0);
    w.u32(0x80000000 | kStreamInfo);  // the last metadata block: STREAMINFO
    w.bytes(info.first(kStreamInfo));
    return {};
}

// AC3SpecificBox (ETSI TS 102 366, F.4), from the frame's own header (A/52, 5.3).
void dac3(BoxWriter& w, Bytes frame) {
    base::BitReader b(frame.subspan(4));
    uint32_t fscod = b.bits(2), frmsizecod = b.bits(6), bsid = b.bits(5), bsmod = b.bits(3), acmod = b.bits(3);
    if ((acmod & 1) && acmod != 1) b.bits(2);
    if (acmod & 4) b.bits(2);
    if (acmod == 2) b.bits(2);
    auto box = w.box("dac3");
    w.u24(fscod << 22 | bsid << 17 | bsmod << 14 | acmod << 11 | b.bit() << 10 | (frmsizecod >> 1) << 5);
}

// EC3SpecificBox (F.6) for one independent substream (A/52, E.1.2).
void dec3(BoxWriter& w, Bytes frame, uint32_t kbits_per_second) {
    base::BitReader b(frame.subspan(2));
    b.skip(2 + 3 + 11);
    uint32_t fscod = b.bits(2);
    b.skip(2);
    uint32_t acmod = b.bits(3), lfeon = b.bit(), bsid = b.bits(5);
    auto box = w.box("dec3");
    w.u16(static_cast<uint16_t>(kbits_per_second << 3));
    w.u24(fscod << 22 | bsid << 17 | acmod << 9 | lfeon << 8);
}

Result<void> ac3_entry(BoxWriter& w, const Frame& frame, AudioEntry& entry) {
    media::Ac3Header header = TRY(media::parse_ac3(frame.payload));
    if (frame.payload.size() < 8) return fail(Code::kProtocol, "AC-3 frame shorter than its header");
    entry.sample_rate = header.sample_rate;
    entry.frame_samples = media::audio_frame_samples(frame.codec, frame.payload);
    auto box = header.enhanced ? w.box("ec-3") : w.box("ac-3");
    audio_fields(w, header.channels, 16, header.sample_rate);
    if (header.enhanced) {
        uint64_t samples = std::max(entry.frame_samples, 256u);
        dec3(w, frame.payload,
             static_cast<uint32_t>(header.frame_size * 8 * static_cast<uint64_t>(header.sample_rate) / samples / 1000));
    } else {
        dac3(w, frame.payload);
    }
    return {};
}

Result<void> any_audio_entry(BoxWriter& w, const Frame& header, AudioEntry& entry) {
    switch (header.codec) {
        case Codec::kAac:
            return aac_entry(w, header, entry);
        case Codec::kMp3:
            return mp3_entry(w, header, entry);
        case Codec::kOpus:
            return opus_entry(w, header, entry);
        case Codec::kFlac:
            return flac_entry(w, header, entry);
        case Codec::kAc3:
        case Codec::kEac3:
            return ac3_entry(w, header, entry);
        default:
            return fail(Code::kRefused,
                        fmt::format("{} is not supported in MP4", media::codec_info(header.codec).name));
    }
}

}  // namespace

Result<AudioEntry> audio_entry(const Frame& header) {
    AudioEntry entry;
    BoxWriter w(entry.box);
    TRY(any_audio_entry(w, header, entry));
    return entry;
}

}  // namespace mp4
