#pragma once
// Finishes a recording's file on a worker thread when it is complete, or was left by a crash: cuts off an incomplete
// end, completes the header, renames the file. It blocks; it does not access the loop's data.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "service/dvr/naming.h"

namespace service::dvr {

struct Finished {
    std::string path;  // empty: nothing was recorded, and the file was removed
    int64_t duration_ms = 0;
    uint64_t bytes = 0;
};

// Renames to `path`, or if that file exists to the first free one of path-1, path-2 ... Returns the new name.
base::Result<std::string> rename_to_free(const std::string& growing, const std::string& path);

// Repairs an FLV file that may end anywhere and whose header is as written at the beginning. The name is kept.
base::Result<Finished> repair_flv(const std::string& growing);

// Finishes a file according to the path's extension. whole: the file was closed properly (then an FLV file needs
// nothing more and duration_ms is known; an MP4 file is converted from fragments to a plain file in any case).
// kNotFound: the file does not exist. owner: the stream that it belongs to, see runtime/disk/file_owner.h.
base::Result<Finished> finish_file(const std::string& growing, const std::string& path, bool whole, int64_t duration_ms,
                                   const std::string& owner = {});

}  // namespace service::dvr
