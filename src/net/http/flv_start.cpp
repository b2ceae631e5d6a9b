#include "net/http/flv_start.h"

#include <algorithm>
#include <span>

namespace net {
namespace {

constexpr size_t kFileHeader = 9, kTagHeader = 11, kPreviousTagSize = 4;
constexpr uint8_t kAudio = 8, kVideo = 9;
constexpr size_t kBeginning = 128 * 1024;  // sequence headers are looked for in it
constexpr int64_t kReadHeadMs = 30'000;

// Annex E of the FLV specification, and Enhanced RTMP.
bool is_sequence_header(uint8_t type, std::span<const uint8_t> body) {
    if (body.size() < 2) return false;
    const uint8_t low = body[0] & 0x0f, high = body[0] >> 4;
    if (type == kVideo) return body[0] & 0x80 ? low == 0 : (low == 7 || low == 12) && body[1] == 0;
    if (type == kAudio) return high == 9 ? low == 0 : high == 10 && body[1] == 0;
    return false;
}

}  // namespace

base::Result<FileParts> flv_parts_from(const OpenedFile& file, uint64_t start) {
    const auto size = static_cast<uint64_t>(file.info.st_size);
    const auto bytes =
        TRY(file.source->read(0, std::min<uint64_t>(size, kBeginning), runtime::Deadline::in_ms(kReadHeadMs)));
    const std::span<const uint8_t> all = bytes;
    size_t at = kFileHeader + kPreviousTagSize;
    if (all.size() < at || all[0] != 'F' || all[1] != 'L' || all[2] != 'V') return FileParts();
    FileParts parts{{file.source, 0, at}};
    bool has_audio = false, has_video = false;
    while (at + kTagHeader <= std::min<uint64_t>(all.size(), start) && !(has_audio && has_video)) {
        const uint8_t type = all[at] & 0x1f;
        const size_t body =
            static_cast<size_t>(all[at + 1]) << 16 | static_cast<size_t>(all[at + 2]) << 8 | all[at + 3];
        const size_t end = at + kTagHeader + body + kPreviousTagSize;
        if (end > all.size()) break;
        bool& known = type == kAudio ? has_audio : has_video;
        if (end <= start && !known && is_sequence_header(type, all.subspan(at + kTagHeader, body))) {
            known = true;
            parts.push_back({file.source, at, end - at});
        }
        at = end;
    }
    parts.push_back({file.source, start, size - start});
    return parts;
}

}  // namespace net
