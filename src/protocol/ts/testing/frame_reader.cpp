#include "protocol/ts/testing/frame_reader.h"

#include <algorithm>

#include "media/aac.h"
#include "media/audio_headers.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/nalu.h"

namespace ts {
namespace {

using media::Codec;
using Bytes = std::span<const uint8_t>;

constexpr size_t kMaxRest = 16 * 1024;  // more than a frame of any of these codecs

struct AudioFrame {
    size_t header = 0;  // bytes before the payload that do not belong to it
    size_t size = 0;    // including the header
    int64_t samples = 0;
    int sample_rate = 1;
    base::Slice config;  // of AAC
};

base::Result<AudioFrame> read_audio_frame(Codec codec, Bytes bytes) {
    if (codec == Codec::kAac) {
        auto adts = TRY(media::parse_adts(bytes));
        if (adts.channel_config == 0) return base::fail(base::Code::kProtocol, "ADTS with its channels in the frames");
        if (adts.raw_blocks > 1) return base::fail(base::Code::kProtocol, "several raw blocks in an ADTS frame");
        return AudioFrame{adts.header_size, adts.frame_size, 1024, adts.sample_rate,
                          media::make_aac_config(adts.object_type, adts.sample_rate, adts.channel_config)};
    }
    if (codec == Codec::kMp3) {
        auto mpeg = TRY(media::parse_mpeg_audio(bytes));
        if (mpeg.frame_size == 0) return base::fail(base::Code::kProtocol, "MPEG audio of free format");
        return AudioFrame{0, mpeg.frame_size, mpeg.samples, mpeg.sample_rate, {}};
    }
    auto ac3 = TRY(media::parse_ac3(bytes));
    if (ac3.frame_size == 0 || ac3.sample_rate <= 0) return base::fail(base::Code::kProtocol, "AC-3 without a size");
    return AudioFrame{0, ac3.frame_size, 1536, ac3.sample_rate, {}};
}

// The longest header that is read here, in bytes.
constexpr size_t kAudioHeader = 9;

// The distance to the next byte that may begin a frame.
size_t next_sync(Codec codec, Bytes bytes) {
    uint8_t first = codec == Codec::kAc3 || codec == Codec::kEac3 ? 0x0b : 0xff;
    auto found = std::find(bytes.begin() + 1, bytes.end(), first);
    return static_cast<size_t>(found - bytes.begin());
}

std::vector<uint8_t> copy(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

FrameReader::Track& FrameReader::track_of(const ProgramStream& stream) {
    auto& tracks = media::codec_info(stream.codec).kind == media::Kind::kVideo ? video_ : audio_;
    CHECK(stream.track < tracks.size());
    Track& track = tracks[stream.track];
    if (track.pid != stream.pid || track.codec != stream.codec) {
        track = {};
        track.pid = stream.pid;
        track.codec = stream.codec;
        track.index = stream.track;
    }
    return track;
}

void FrameReader::take(const PesPacket& packet) {
    Track* known = packet.stream.codec == Codec::kNone ? nullptr : &track_of(packet.stream);
    if (packet.damaged || !packet.dts) {
        ++damaged_;
        if (known) known->rest.clear();
        return;
    }
    if (!known) return;
    Track& track = *known;
    const Times times{media::from_ticks(*packet.dts, kTicksPerSecond), media::from_ticks(*packet.pts, kTicksPerSecond)};
    switch (packet.stream.codec) {
        case Codec::kH264:
        case Codec::kHevc:
            return take_video(packet, track, times);
        case Codec::kOpus:
            return take_opus(packet, track, times);
        default:
            return take_audio(packet, track, times);
    }
}

void FrameReader::take_video(const PesPacket& packet, Track& track, Times times) {
    bool hevc = packet.stream.codec == Codec::kHevc;
    base::SliceBuilder payload(packet.payload.size() + 64);
    bool keyframe = false;
    media::AnnexBReader reader(packet.payload);
    for (auto unit = reader.next(); unit; unit = reader.next()) {
        uint8_t type = hevc ? media::h265::nalu_type(*unit) : media::h264::nalu_type(*unit);
        if (type == (hevc ? +media::h265::kAud : +media::h264::kAud)) continue;
        auto* parameters = hevc && type == media::h265::kVps                          ? &track.vps
                           : type == (hevc ? +media::h265::kSps : +media::h264::kSps) ? &track.sps
                           : type == (hevc ? +media::h265::kPps : +media::h264::kPps) ? &track.pps
                                                                                      : nullptr;
        if (parameters) {
            *parameters = copy(*unit);
            continue;
        }
        keyframe |= hevc ? type >= 16 && type <= 21 : type == media::h264::kIdr;
        media::append_length_prefixed(payload, *unit);
    }
    keyframe |= packet.random_access;
    if (keyframe) {
        auto header = hevc ? media::make_hevc_config(track.vps, track.sps, track.pps)
                           : media::make_avc_config(track.sps, track.pps);
        if (header)
            put_header(track, std::move(*header), times);
        else
            ++unreadable_;
    }
    if (payload.size() == 0)
        ++unreadable_;
    else
        put_out(track, payload.freeze(), times, keyframe);
}

void FrameReader::take_audio(const PesPacket& packet, Track& track, Times times) {
    base::Slice bytes = packet.payload;
    if (!track.rest.empty()) {
        track.rest.insert(track.rest.end(), bytes.begin(), bytes.end());
        bytes = base::Slice::copy(track.rest);
        track.rest.clear();
    }
    Times first = times;
    int64_t samples = 0;
    while (bytes.size() > 0) {
        auto frame = read_audio_frame(packet.stream.codec, bytes);
        if (frame ? frame->size > bytes.size() : bytes.size() < kAudioHeader) {
            if (bytes.size() <= kMaxRest) track.rest = copy(bytes);
            return;
        }
        if (!frame || frame->size <= frame->header) {
            ++unreadable_;
            bytes = bytes.sub(next_sync(packet.stream.codec, bytes));
            continue;
        }
        if (!frame->config.empty()) put_header(track, frame->config, times);
        put_out(track, bytes.sub(frame->header, frame->size - frame->header), times);
        samples += frame->samples;
        times.dts = times.pts = first.dts + media::from_ticks(samples, frame->sample_rate);
        bytes = bytes.sub(frame->size);
    }
}

// A control header: eleven bits of prefix, three flags, the size as a sum of bytes, the fields selected by the flags.
void FrameReader::take_opus(const PesPacket& packet, Track& track, Times times) {
    base::Slice bytes = packet.payload;
    put_header(track, media::make_opus_head(packet.stream.opus_channels, 0, 48'000), times);
    while (bytes.size() > 2) {
        if (bytes[0] != 0x7f || (bytes[1] & 0xe0) != 0xe0) return void(++unreadable_);
        uint8_t flags = bytes[1];
        size_t at = 2, size = 0;
        while (at < bytes.size() && bytes[at] == 255) size += bytes[at++];
        if (at < bytes.size()) size += bytes[at++];
        at += flags & 0x10 ? 2 : 0;
        at += flags & 0x08 ? 2 : 0;
        if (flags & 0x04 && at < bytes.size()) at += 1u + bytes[at];
        if (at > bytes.size() || size == 0 || size > bytes.size() - at) return void(++unreadable_);
        base::Slice frame = bytes.sub(at, size);
        auto parsed = media::parse_opus_packet(frame);
        if (!parsed) return void(++unreadable_);
        put_out(track, frame, times);
        times.dts += media::from_us(parsed->duration_us);
        times.pts = times.dts;
        bytes = bytes.sub(at + size);
    }
}

void FrameReader::put_header(Track& track, base::Slice header, Times times) {
    if (header == track.header) return;
    track.header = header;
    media::Frame frame;
    frame.kind = media::codec_info(track.codec).kind;
    frame.codec = track.codec;
    frame.track = track.index;
    frame.sequence_header = true;
    frame.dts = times.dts;
    frame.payload = std::move(header);
    sink_(std::move(frame));
}

void FrameReader::put_out(const Track& track, base::Slice payload, Times times, bool keyframe) {
    media::Frame frame;
    frame.kind = media::codec_info(track.codec).kind;
    frame.codec = track.codec;
    frame.track = track.index;
    frame.keyframe = keyframe;
    frame.dts = times.dts;
    frame.cts = times.pts - times.dts;
    frame.payload = std::move(payload);
    sink_(std::move(frame));
}

}  // namespace ts
