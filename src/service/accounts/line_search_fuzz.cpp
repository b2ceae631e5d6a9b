// Fuzzes reading a file from its end: any bytes, in pieces, give the lines that reading from the beginning gives.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/record_lines.h"
#include "service/accounts/line_search.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using service::accounts::LineSearch;
    if (size == 0) return 0;
    // The first byte repeats the rest, so that there are several chunks.
    std::string all;
    const size_t times = size > 1 && data[0] > 250 ? 2 * LineSearch::kChunkBytes / size + 1 : 1;
    for (size_t i = 0; i < times; ++i) all.append(reinterpret_cast<const char*>(data) + 1, size - 1);
    std::vector<std::string> expected, got;
    std::string_view text = all, line;
    while (base::take_line(text, line))
        if (!line.empty() && line.size() <= LineSearch::kMaxLine) expected.emplace_back(line);
    const auto read = [&](uint64_t offset, std::span<uint8_t> buffer) -> base::Result<size_t> {
        std::copy_n(all.data() + offset, buffer.size(), reinterpret_cast<char*>(buffer.data()));
        return buffer.size();
    };
    const auto visited = service::accounts::visit_lines_backwards(all.size(), read, [&](std::string_view one) {
        got.emplace_back(one);
        return true;
    });
    CHECK(visited && *visited == all.size());
    std::ranges::reverse(got);
    CHECK(got == expected);
    return 0;
}
