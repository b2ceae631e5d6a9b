#pragma once
// ?start=BYTES of an FLV file, as in SRS: the file's header, its sequence headers, and the file from that byte on. The
// players that ask so take the byte from the keyframes of onMetaData.

#include <cstdint>

#include "base/result.h"
#include "net/http/file_body.h"
#include "net/http/opened_files.h"

namespace net {

// start: between 1 and the file's size. Empty where the file is no FLV. Yields: a worker reads the file's beginning.
base::Result<FileParts> flv_parts_from(const OpenedFile& file, uint64_t start);

}  // namespace net
