// Fuzzes the query of a request for a playlist. For any query and any playlist: what is waited for is not there, comes
// within a few segments, and what is there once stays there.
#include <cstddef>
#include <cstdint>

#include "protocol/m3u8/directives.h"

using namespace m3u8;

// Two bytes for the playlist, then the query.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const std::string_view query(reinterpret_cast<const char*>(data + 2), size - 2);
    const std::string kept = without_directives(query);
    CHECK(kept.size() <= query.size());
    CHECK(without_directives(kept) == kept);
    for (const auto& [name, value] : http::parse_query(kept)) CHECK(!name.starts_with("_HLS_"));
    const auto parsed = parse_directives(http::parse_query(query));
    if (!parsed || !parsed->awaited) return 0;
    const PartPosition awaited = *parsed->awaited;
    constexpr uint64_t kParts = 6;
    PlaylistEnd end{.next = {data[0], uint64_t{data[1]} % kParts},
                    .parts_before = data[1] / 64u,
                    .max_segment_parts = max_parts(2'000'000, 333'000)};
    switch (decide(awaited, end)) {
        case Reload::kAnswer:
            CHECK(end.has(awaited));
            break;
        case Reload::kRefuse:
            CHECK(!end.has(awaited));
            CHECK(awaited.msn - end.next.msn > 1 || awaited.part > end.max_segment_parts);
            return 0;
        case Reload::kWait:
            CHECK(!end.has(awaited));
            CHECK(awaited.msn <= end.next.msn + 2);
            break;
    }
    // The playlist goes on: it is there within four segments, and stays.
    bool there = end.has(awaited);
    const uint64_t last = end.next.msn + 4;
    while (end.next.msn < last) {
        if (++end.next.part == kParts) {
            end.parts_before = kParts;
            end.next = {end.next.msn + 1, 0};
        }
        CHECK(end.has(awaited) || !there);
        there = end.has(awaited);
    }
    CHECK(there);
    return 0;
}
