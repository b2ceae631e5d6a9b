#include "net/http/flv_start.h"

#include <algorithm>

#include "protocol/flv/file_start.h"

namespace net {
namespace {

constexpr size_t kBeginning = 128 * 1024;  // sequence headers are looked for in it
constexpr int64_t kReadHeadMs = 30'000;

}  // namespace

base::Result<FileParts> flv_parts_from(const OpenedFile& file, uint64_t start) {
    const auto size = static_cast<uint64_t>(file.info.st_size);
    const auto bytes =
        TRY(file.source->read(0, std::min<uint64_t>(size, kBeginning), runtime::Deadline::in_ms(kReadHeadMs)));
    FileParts parts;
    for (const flv::Extent& part : flv::file_start(bytes, start))
        parts.push_back({file.source, part.begin, part.end - part.begin});
    if (!parts.empty()) parts.push_back({file.source, start, size - start});
    return parts;
}

}  // namespace net
