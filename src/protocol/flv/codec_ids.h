#pragma once
// How FLV and RTMP name codecs: codec ids and sound formats (Adobe Flash Video File Format 10.1, E.4.2.1 and E.4.3.1;
// HEVC by the unofficial id 12), and Enhanced RTMP's FourCCs.

#include <cstdint>
#include <optional>

#include "media/codec.h"

namespace flv {

struct CodecIds {
    uint32_t fourcc;  // 0: there is none
    int8_t id;        // codec id or sound format; -1: there is none
};

const CodecIds& codec_ids(media::Codec codec);
std::optional<media::Codec> codec_from_fourcc(media::Kind kind, uint32_t fourcc);
// Nellymoser has three ids (4, 5, 6) and MP3 two (2, 14): all are recognised here, codec_ids() has the usual one.
std::optional<media::Codec> codec_from_id(media::Kind kind, int id);

}  // namespace flv
