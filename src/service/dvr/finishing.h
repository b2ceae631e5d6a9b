#pragma once
// What is done to a recording's file on a worker thread when it is complete, or was left by a crash: the last torn
// piece is cut off, the head completed, the file renamed. Blocks; touches nothing of the loop's.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "service/dvr/naming.h"

namespace service::dvr {

struct Finished {
    std::string path;  // empty: nothing was recorded, and the file is gone
    int64_t duration_ms = 0;
    uint64_t bytes = 0;
};

// Renames to `path`, or where there is such a file already to the first free of path-1, path-2 ... The name it got.
base::Result<std::string> rename_to_free(const std::string& growing, const std::string& path);

// Makes a whole FLV file of one that may end anywhere, and has the head as it was at the beginning; under its own name.
base::Result<Finished> repair_flv(const std::string& growing);

// By the path's extension. whole: the file was closed in order (an FLV file needs nothing more then, duration_ms is
// known; an MP4 file is turned from fragments into a plain one in any case). kNotFound: there is no such file.
// owner: the stream that it is of, see runtime/file_owner.h.
base::Result<Finished> finish_file(const std::string& growing, const std::string& path, bool whole, int64_t duration_ms,
                                   const std::string& owner = {});

}  // namespace service::dvr
