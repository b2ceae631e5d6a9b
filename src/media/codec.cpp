#include "media/codec.h"

#include <array>

#include "base/result.h"

namespace media {

namespace {

// In the order of Codec.
constexpr CodecInfo kTable[] = {
    {Codec::kNone, Kind::kData, "", 0, -1, false},
    {Codec::kH264, Kind::kVideo, "H264", fourcc("avc1"), 7, true},
    {Codec::kHevc, Kind::kVideo, "HEVC", fourcc("hvc1"), 12, true},
    {Codec::kAv1, Kind::kVideo, "AV1", fourcc("av01"), -1, true},
    {Codec::kVp9, Kind::kVideo, "VP9", fourcc("vp09"), -1, true},
    {Codec::kVp8, Kind::kVideo, "VP8", fourcc("vp08"), -1, false},
    {Codec::kH263, Kind::kVideo, "H263", 0, 2, false},
    {Codec::kScreen, Kind::kVideo, "ScreenVideo", 0, 3, false},
    {Codec::kScreen2, Kind::kVideo, "ScreenVideo2", 0, 6, false},
    {Codec::kVp6, Kind::kVideo, "VP6", 0, 4, false},
    {Codec::kVp6Alpha, Kind::kVideo, "VP6A", 0, 5, false},
    {Codec::kAac, Kind::kAudio, "AAC", fourcc("mp4a"), 10, true},
    {Codec::kMp3, Kind::kAudio, "MP3", fourcc(".mp3"), 2, false},
    {Codec::kOpus, Kind::kAudio, "Opus", fourcc("Opus"), -1, false},
    {Codec::kFlac, Kind::kAudio, "FLAC", fourcc("fLaC"), -1, true},
    {Codec::kAc3, Kind::kAudio, "AC3", fourcc("ac-3"), -1, false},
    {Codec::kEac3, Kind::kAudio, "EAC3", fourcc("ec-3"), -1, false},
    {Codec::kPcmAlaw, Kind::kAudio, "PCMA", 0, 7, false},
    {Codec::kPcmUlaw, Kind::kAudio, "PCMU", 0, 8, false},
    {Codec::kPcm, Kind::kAudio, "PCM", 0, 0, false},
    {Codec::kPcmLe, Kind::kAudio, "PCM", 0, 3, false},
    {Codec::kAdpcm, Kind::kAudio, "ADPCM", 0, 1, false},
    {Codec::kSpeex, Kind::kAudio, "Speex", 0, 11, false},
    {Codec::kNellymoser, Kind::kAudio, "Nellymoser", 0, 6, false},
    {Codec::kAmf0, Kind::kData, "AMF0", 0, -1, false},
};

constexpr bool in_order() {
    for (size_t i = 0; i < std::size(kTable); ++i) {
        if (kTable[i].codec != static_cast<Codec>(i)) return false;
    }
    return std::size(kTable) == static_cast<size_t>(Codec::kAmf0) + 1;
}
static_assert(in_order());

// By kind and FLV id; kNone: there is none.
constexpr auto kByFlvId = [] {
    std::array<std::array<Codec, 16>, 2> codecs{};
    for (const CodecInfo& row : kTable)
        if (row.flv_id >= 0) codecs[static_cast<size_t>(row.kind)][static_cast<size_t>(row.flv_id)] = row.codec;
    auto& audio = codecs[static_cast<size_t>(Kind::kAudio)];
    audio[4] = audio[5] = Codec::kNellymoser;
    audio[14] = Codec::kMp3;
    return codecs;
}();

}  // namespace

const CodecInfo& codec_info(Codec codec) {
    CHECK(static_cast<size_t>(codec) < std::size(kTable));
    return kTable[static_cast<size_t>(codec)];
}

std::optional<Codec> codec_from_fourcc(Kind kind, uint32_t fourcc) {
    if (fourcc == 0) return std::nullopt;
    for (const CodecInfo& row : kTable) {
        if (row.fourcc == fourcc && row.kind == kind) return row.codec;
    }
    return std::nullopt;
}

std::optional<Codec> codec_from_flv_id(Kind kind, int flv_id) {
    if (kind == Kind::kData || flv_id < 0 || flv_id > 15) return std::nullopt;
    const Codec codec = kByFlvId[static_cast<size_t>(kind)][static_cast<size_t>(flv_id)];
    return codec == Codec::kNone ? std::nullopt : std::optional(codec);
}

}  // namespace media
