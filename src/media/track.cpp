#include "media/track.h"

#include <fmt/format.h>

#include "media/aac.h"
#include "media/audio_headers.h"
#include "media/av1.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/vpx.h"

namespace media {

using base::Code;
using base::fail;
using base::Result;

namespace {

Result<VideoInfo> h264_info(std::span<const uint8_t> record) {
    AvcConfig config = TRY(parse_avc_config(record));
    VideoInfo info;
    info.nalu_length_size = config.nalu_length_size;
    info.profile = h264_profile_name(config.profile_idc, config.compatibility);
    info.level = h264_level_name(config.level_idc, config.compatibility);
    if (!config.sps.empty()) {
        H264Sps sps = TRY(parse_h264_sps(config.sps[0]));
        info.width = sps.width;
        info.height = sps.height;
    }
    return info;
}

Result<VideoInfo> hevc_info(std::span<const uint8_t> record) {
    HevcConfig config = TRY(parse_hevc_config(record));
    VideoInfo info;
    info.nalu_length_size = config.nalu_length_size;
    info.profile = hevc_profile_name(config.profile.profile_idc());
    info.level = hevc_level_name(config.profile.level_idc);
    if (!config.sps.empty()) {
        HevcSps sps = TRY(parse_hevc_sps(config.sps[0]));
        info.width = sps.width;
        info.height = sps.height;
    }
    return info;
}

Result<VideoInfo> av1_info(const Frame& frame) {
    VideoInfo info;
    std::optional<Av1Sequence> sequence;
    if (frame.sequence_header) {
        Av1Config config = TRY(parse_av1_config(frame.payload));
        info.profile = av1_profile_name(config.profile);
        info.level = av1_level_name(config.level_idx);
        sequence = config.sequence;
    } else {
        ObuReader obus(frame.payload);
        while (auto obu = obus.next()) {
            if (obu->type == av1::kSequenceHeader) sequence = TRY(parse_av1_sequence(obu->payload));
        }
    }
    if (sequence) {
        info.profile = av1_profile_name(sequence->profile);
        info.level = av1_level_name(sequence->level_idx);
        info.width = sequence->width;
        info.height = sequence->height;
    }
    return info;
}

Result<VideoInfo> vp_info(const Frame& frame) {
    VideoInfo info;
    if (frame.sequence_header) {
        VpConfig config = TRY(parse_vp_config(frame.payload));
        info.profile = fmt::format("{}", config.profile);
        info.level = vp9_level_name(config.level);
        return info;
    }
    VpFrame vp = frame.codec == Codec::kVp9 ? TRY(parse_vp9_frame(frame.payload)) : TRY(parse_vp8_frame(frame.payload));
    info.profile = fmt::format("{}", vp.profile);
    info.width = vp.width;
    info.height = vp.height;
    return info;
}

Result<VideoInfo> any_video_info(const Frame& frame) {
    switch (frame.codec) {
        case Codec::kH264:
        case Codec::kHevc:
            if (!frame.sequence_header) return VideoInfo();
            return frame.codec == Codec::kH264 ? h264_info(frame.payload) : hevc_info(frame.payload);
        case Codec::kAv1:
            return av1_info(frame);
        case Codec::kVp9:
        case Codec::kVp8:
            return vp_info(frame);
        default:
            return VideoInfo();
    }
}

Result<AudioInfo> opus_info(const Frame& frame) {
    AudioInfo info;
    info.sample_rate = 48000;
    if (frame.sequence_header) {
        info.channels = TRY(parse_opus_head(frame.payload)).channels;
    } else {
        info.channels = TRY(parse_opus_packet(frame.payload)).channels;
    }
    return info;
}

Result<AudioInfo> any_audio_info(const Frame& frame) {
    AudioInfo info;
    switch (frame.codec) {
        case Codec::kAac: {
            if (!frame.sequence_header) return info;
            AacConfig config = TRY(parse_aac_config(frame.payload));
            info.profile = aac_profile_name(config);
            info.sample_rate = config.output_sample_rate;
            info.channels = config.output_channels();
            return info;
        }
        case Codec::kMp3: {
            MpegAudioHeader header = TRY(parse_mpeg_audio(frame.payload));
            info.sample_rate = header.sample_rate;
            info.channels = header.channels;
            return info;
        }
        case Codec::kOpus:
            return opus_info(frame);
        case Codec::kFlac: {
            if (!frame.sequence_header) return info;
            FlacConfig config = TRY(parse_flac_config(frame.payload));
            info.sample_rate = config.sample_rate;
            info.channels = config.channels;
            return info;
        }
        case Codec::kAc3:
        case Codec::kEac3: {
            Ac3Header header = TRY(parse_ac3(frame.payload));
            info.sample_rate = header.sample_rate;
            info.channels = header.channels;
            return info;
        }
        default:
            return info;
    }
}

}  // namespace

Result<VideoInfo> video_info(const Frame& frame) {
    VideoInfo info = TRY(any_video_info(frame), codec_info(frame.codec).name);
    info.codec = frame.codec;
    return info;
}

Result<AudioInfo> audio_info(const Frame& frame) {
    AudioInfo info = TRY(any_audio_info(frame), codec_info(frame.codec).name);
    info.codec = frame.codec;
    return info;
}

}  // namespace media
