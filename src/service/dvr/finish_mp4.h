#pragma once
// Finishes an MP4 recording in place (protocol/mp4/finisher.h): from fragments to a plain, fast-start file. It handles
// both a file that was closed properly and one left by a kill, whose incomplete end is cut off. It blocks on the file:
// for a worker thread; it does not access the loop's data.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace service::dvr {

struct FinishedMp4 {
    uint64_t bytes = 0;  // of the finished file
    int64_t duration_ms = 0;
    uint64_t samples = 0;
    uint64_t cut_bytes = 0;     // of an incomplete end
    bool was_finished = false;  // by an earlier call
    enum class How : uint8_t { kInPlace, kInserted, kCopied } how = How::kInPlace;
};

struct FinishOptions {
    // The new moov is synced to the medium before it is exposed: after a power failure the old or the new one is
    // intact.
    bool sync = true;
    // For tests; false: as if the file system could not insert space.
    bool insert = true;
};

// The file keeps its name. kNotFound: the file does not exist, or has no complete fragment: nothing was recorded, and
// the file is unchanged. kProtocol: it is not an MP4 recording. kSystem: the file system can neither insert space nor
// has room for a copy; the file is unchanged and playable.
base::Result<FinishedMp4> finish_mp4(const std::string& path, const FinishOptions& options = {});

}  // namespace service::dvr
