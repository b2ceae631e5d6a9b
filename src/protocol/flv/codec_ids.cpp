#include "protocol/flv/codec_ids.h"

#include <array>

#include "base/result.h"

namespace flv {

using media::Codec;
using media::fourcc;
using media::Kind;

namespace {

struct Row {
    Codec codec;
    Kind kind;
    CodecIds ids;
};

// In the order of Codec.
constexpr Row kTable[] = {
    {Codec::kNone, Kind::kData, {0, -1}},
    {Codec::kH264, Kind::kVideo, {fourcc("avc1"), 7}},
    {Codec::kHevc, Kind::kVideo, {fourcc("hvc1"), 12}},
    {Codec::kAv1, Kind::kVideo, {fourcc("av01"), -1}},
    {Codec::kVp9, Kind::kVideo, {fourcc("vp09"), -1}},
    {Codec::kVp8, Kind::kVideo, {fourcc("vp08"), -1}},
    {Codec::kH263, Kind::kVideo, {0, 2}},
    {Codec::kScreen, Kind::kVideo, {0, 3}},
    {Codec::kScreen2, Kind::kVideo, {0, 6}},
    {Codec::kVp6, Kind::kVideo, {0, 4}},
    {Codec::kVp6Alpha, Kind::kVideo, {0, 5}},
    {Codec::kAac, Kind::kAudio, {fourcc("mp4a"), 10}},
    {Codec::kMp3, Kind::kAudio, {fourcc(".mp3"), 2}},
    {Codec::kOpus, Kind::kAudio, {fourcc("Opus"), -1}},
    {Codec::kFlac, Kind::kAudio, {fourcc("fLaC"), -1}},
    {Codec::kAc3, Kind::kAudio, {fourcc("ac-3"), -1}},
    {Codec::kEac3, Kind::kAudio, {fourcc("ec-3"), -1}},
    {Codec::kPcmAlaw, Kind::kAudio, {0, 7}},
    {Codec::kPcmUlaw, Kind::kAudio, {0, 8}},
    {Codec::kPcm, Kind::kAudio, {0, 0}},
    {Codec::kPcmLe, Kind::kAudio, {0, 3}},
    {Codec::kAdpcm, Kind::kAudio, {0, 1}},
    {Codec::kSpeex, Kind::kAudio, {0, 11}},
    {Codec::kNellymoser, Kind::kAudio, {0, 6}},
    {Codec::kAmf0, Kind::kData, {0, -1}},
};

constexpr bool in_order() {
    for (size_t i = 0; i < std::size(kTable); ++i) {
        if (kTable[i].codec != static_cast<Codec>(i)) return false;
    }
    return std::size(kTable) == static_cast<size_t>(Codec::kAmf0) + 1;
}
static_assert(in_order());

// By kind and id; kNone: there is none.
constexpr auto kById = [] {
    std::array<std::array<Codec, 16>, 2> codecs{};
    for (const Row& row : kTable)
        if (row.ids.id >= 0) codecs[static_cast<size_t>(row.kind)][static_cast<size_t>(row.ids.id)] = row.codec;
    auto& audio = codecs[static_cast<size_t>(Kind::kAudio)];
    audio[4] = audio[5] = Codec::kNellymoser;
    audio[14] = Codec::kMp3;
    return codecs;
}();

}  // namespace

const CodecIds& codec_ids(Codec codec) {
    CHECK(static_cast<size_t>(codec) < std::size(kTable));
    return kTable[static_cast<size_t>(codec)].ids;
}

std::optional<Codec> codec_from_fourcc(Kind kind, uint32_t fourcc) {
    if (fourcc == 0) return std::nullopt;
    for (const Row& row : kTable) {
        if (row.ids.fourcc == fourcc && row.kind == kind) return row.codec;
    }
    return std::nullopt;
}

std::optional<Codec> codec_from_id(Kind kind, int id) {
    if (kind == Kind::kData || id < 0 || id > 15) return std::nullopt;
    const Codec codec = kById[static_cast<size_t>(kind)][static_cast<size_t>(id)];
    return codec == Codec::kNone ? std::nullopt : std::optional(codec);
}

}  // namespace flv
