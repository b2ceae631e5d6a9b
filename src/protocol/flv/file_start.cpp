#include "protocol/flv/file_start.h"

#include <algorithm>

#include "protocol/flv/tag.h"

namespace flv {
namespace {

// Annex E of the FLV specification, and Enhanced RTMP.
bool is_sequence_header(uint8_t type, std::span<const uint8_t> body) {
    if (body.size() < 2) return false;
    const uint8_t low = body[0] & 0x0f, high = body[0] >> 4;
    if (type == static_cast<uint8_t>(TagType::kVideo))
        return body[0] & 0x80 ? low == 0 : (low == 7 || low == 12) && body[1] == 0;
    if (type == static_cast<uint8_t>(TagType::kAudio)) return high == 9 ? low == 0 : high == 10 && body[1] == 0;
    return false;
}

}  // namespace

std::vector<Extent> file_start(std::span<const uint8_t> beginning, uint64_t start) {
    size_t at = kFileHeaderSize;
    if (beginning.size() < at || beginning[0] != 'F' || beginning[1] != 'L' || beginning[2] != 'V') return {};
    std::vector<Extent> parts = {{0, at}};
    bool has_audio = false, has_video = false;
    while (at + kTagHeaderSize <= std::min<uint64_t>(beginning.size(), start) && !(has_audio && has_video)) {
        const uint8_t type = beginning[at] & 0x1f;
        const size_t body = base::get_u24(&beginning[at + 1]);
        const size_t end = at + kTagHeaderSize + body + kPreviousTagSize;
        if (end > std::min<uint64_t>(beginning.size(), start)) break;
        bool& known = type == static_cast<uint8_t>(TagType::kAudio) ? has_audio : has_video;
        if (!known && is_sequence_header(type, beginning.subspan(at + kTagHeaderSize, body))) {
            known = true;
            parts.push_back({at, end});
        }
        at = end;
    }
    return parts;
}

}  // namespace flv
