#pragma once
// A plain MP4 of a stream's fragments: its movie box is made from theirs, and comes first; behind it they are as they
// lie in files or in memory, their own headers among them, which players skip. Nothing of the media is copied.

#include <string>
#include <vector>

#include "base/result.h"
#include "net/http/file_body.h"

namespace net {

struct Mp4Clip {
    FileParts parts{};  // of the whole file
    uint64_t bytes = 0;
    int64_t duration_ms = 0;
};

// inits: initialisation segments, whose tracks, of different ids, are those of the clip. fragments: whole ones (ISO/IEC
// 14496-12, 8.8), of each track in the order of its times. Their headers are read, in files by workers: it yields.
// kProtocol: they are not that. kLimit: there are more than kMaxClipSamples. kSystem: there is no memory.
inline constexpr uint64_t kMaxClipSamples = 2'000'000;
base::Result<Mp4Clip> make_mp4_clip(const std::vector<std::string>& inits, FileParts fragments);

}  // namespace net
