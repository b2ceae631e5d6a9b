// The beginning of a file: what is given of it, in order, within the file and before the byte that was asked for, is an
// FLV file with a sequence header of each kind at most.
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "protocol/flv/file_start.h"
#include "protocol/flv/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const std::span<const uint8_t> file(data + 2, size - 2);
    const uint64_t start = (data[0] << 8 | data[1]) % (file.size() + 1);
    const auto parts = flv::file_start(file, start);
    if (parts.empty()) return 0;
    CHECK(parts.size() <= 3 && parts.front().begin == 0 && parts.front().end == flv::kFileHeaderSize);
    flv::Reader reader;
    size_t last = 0;
    for (const flv::Extent& part : parts) {
        CHECK(part.begin >= last && part.end > part.begin && part.end <= file.size());
        CHECK(part.begin == 0 || part.end <= start);
        last = part.end;
        if (part.begin == 0) {
            uint8_t header[flv::kFileHeaderSize];
            (void)flv::put_file_header(header, true, true);
            reader.feed(header);
        } else {
            reader.feed(file.subspan(part.begin, part.end - part.begin));
        }
    }
    bool seen[2] = {};
    for (size_t i = 1; i < parts.size(); ++i) {
        const auto tag = reader.next();
        if (!tag) return 0;  // an encrypted one
        CHECK(*tag && (*tag)->body.size() == parts[i].end - parts[i].begin - 15);
        bool& known = seen[(*tag)->type == 9];
        CHECK(!known);
        known = true;
    }
    const auto rest = reader.next();
    CHECK(rest && !*rest && reader.buffered() == 0);
    return 0;
}
