#include "media/codec.h"

#include "base/result.h"

namespace media {

namespace {

// In the order of Codec.
constexpr CodecInfo kTable[] = {
    {Codec::kNone, Kind::kData, "", false},
    {Codec::kH264, Kind::kVideo, "H264", true},
    {Codec::kHevc, Kind::kVideo, "HEVC", true},
    {Codec::kAv1, Kind::kVideo, "AV1", true},
    {Codec::kVp9, Kind::kVideo, "VP9", true},
    {Codec::kVp8, Kind::kVideo, "VP8", false},
    {Codec::kH263, Kind::kVideo, "H263", false},
    {Codec::kScreen, Kind::kVideo, "ScreenVideo", false},
    {Codec::kScreen2, Kind::kVideo, "ScreenVideo2", false},
    {Codec::kVp6, Kind::kVideo, "VP6", false},
    {Codec::kVp6Alpha, Kind::kVideo, "VP6A", false},
    {Codec::kAac, Kind::kAudio, "AAC", true},
    {Codec::kMp3, Kind::kAudio, "MP3", false},
    {Codec::kOpus, Kind::kAudio, "Opus", false},
    {Codec::kFlac, Kind::kAudio, "FLAC", true},
    {Codec::kAc3, Kind::kAudio, "AC3", false},
    {Codec::kEac3, Kind::kAudio, "EAC3", false},
    {Codec::kPcmAlaw, Kind::kAudio, "PCMA", false},
    {Codec::kPcmUlaw, Kind::kAudio, "PCMU", false},
    {Codec::kPcm, Kind::kAudio, "PCM", false},
    {Codec::kPcmLe, Kind::kAudio, "PCM", false},
    {Codec::kAdpcm, Kind::kAudio, "ADPCM", false},
    {Codec::kSpeex, Kind::kAudio, "Speex", false},
    {Codec::kNellymoser, Kind::kAudio, "Nellymoser", false},
    {Codec::kAmf0, Kind::kData, "AMF0", false},
};

constexpr bool in_order() {
    for (size_t i = 0; i < std::size(kTable); ++i) {
        if (kTable[i].codec != static_cast<Codec>(i)) return false;
    }
    return std::size(kTable) == static_cast<size_t>(Codec::kAmf0) + 1;
}
static_assert(in_order());

}  // namespace

const CodecInfo& codec_info(Codec codec) {
    CHECK(static_cast<size_t>(codec) < std::size(kTable));
    return kTable[static_cast<size_t>(codec)];
}

}  // namespace media
