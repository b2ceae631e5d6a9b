#pragma once
// FLV file framing (Adobe Flash Video File Format 10.1, annex E.2 to E.4): the file header, the tag header and the
// previous-tag-size field. The bodies of tags are in body.h. The put_ functions are for the hot path: fixed offsets, no
// allocation.

#include <cstdint>

#include "base/bytes.h"
#include "media/codec.h"

namespace flv {

enum class TagType : uint8_t { kAudio = 8, kVideo = 9, kScript = 18 };

inline constexpr size_t kFileHeaderSize = 13;  // includes the first previous-tag-size, which is 0
inline constexpr size_t kTagHeaderSize = 11;
inline constexpr size_t kPreviousTagSize = 4;
inline constexpr uint32_t kMaxBodySize = 0xffffff;

inline TagType tag_type(media::Kind kind) {
    if (kind == media::Kind::kVideo) return TagType::kVideo;
    return kind == media::Kind::kAudio ? TagType::kAudio : TagType::kScript;
}

// Each put_ function returns the position after what it wrote.
inline uint8_t* put_file_header(uint8_t* p, bool has_audio, bool has_video) {
    *p++ = 'F';
    *p++ = 'L';
    *p++ = 'V';
    *p++ = 1;
    *p++ = static_cast<uint8_t>((has_audio ? 4 : 0) | (has_video ? 1 : 0));
    p = base::put_u32(p, 9);
    return base::put_u32(p, 0);
}

// body_size: body header and payload, at most kMaxBodySize. timestamp in ms; its low 24 bits are written first, then
// the high 8.
inline uint8_t* put_tag_header(uint8_t* p, TagType type, uint32_t body_size, uint32_t timestamp) {
    *p++ = static_cast<uint8_t>(type);
    p = base::put_u24(p, body_size);
    p = base::put_u24(p, timestamp);
    *p++ = static_cast<uint8_t>(timestamp >> 24);
    return base::put_u24(p, 0);
}

// Follows a tag with a body of that size.
inline uint8_t* put_previous_tag_size(uint8_t* p, uint32_t body_size) {
    return base::put_u32(p, static_cast<uint32_t>(kTagHeaderSize) + body_size);
}

}  // namespace flv
