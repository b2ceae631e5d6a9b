#pragma once
// Finishes an MP4 recording in its file (protocol/mp4/finisher.h): from fragments to a plain, fast-start file. It does
// the same for one that was closed in order and for one that a kill left, whose torn end is cut. Blocks on the file:
// for a worker thread; touches nothing of the loop's.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace service::dvr {

struct FinishedMp4 {
    uint64_t bytes = 0;  // of the finished file
    int64_t duration_ms = 0;
    uint64_t samples = 0;
    uint64_t cut_bytes = 0;     // of a torn end
    bool was_finished = false;  // by an earlier call
    enum class How : uint8_t { kInPlace, kInserted, kCopied } how = How::kInPlace;
};

struct FinishOptions {
    // The new moov is on the medium before it is exposed: a power failure leaves one of both.
    bool sync = true;
    // For tests: as if the file system could not put room in.
    bool insert = true;
};

// The file keeps its name. kNotFound: there is no such file, or no whole fragment in it: nothing was recorded, and the
// file is as it was. kProtocol: it is no MP4 recording. A file system that can neither insert nor has room for a copy:
// kSystem, and the file is as it was, playable.
base::Result<FinishedMp4> finish_mp4(const std::string& path, const FinishOptions& options = {});

}  // namespace service::dvr
