// Fuzzes the reader of what another process leaves of a stream: what it accepts is written as it was read, and can be
// taken over: its ranges, indexes and numbers are within what they refer to.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "service/hls/handover/stream_state.h"

using namespace service::hls;

namespace {

void check(const LeftBytes& bytes, const StreamState& state) {
    CHECK(bytes.blob < state.blob_sizes.size());
    for (const net::PageRange& range : bytes.ranges) CHECK(range.offset + range.length <= state.blob_sizes[bytes.blob]);
}

void check(const LeftRendition& rendition, const StreamState& state) {
    const SegmentTimelineOptions options;
    SegmentTimeline timeline(options);
    timeline.recover(state.left.timeline, 1);
    const auto first = timeline.id_of(rendition.media_sequence);
    CHECK(rendition.entries.empty() ||
          (first >= timeline.kept() && first + rendition.entries.size() <= timeline.end()));
    for (const auto& [index, bytes] : rendition.in_memory) {
        CHECK(index < rendition.entries.size());
        check(bytes, state);
    }
    for (const LeftPart& part : rendition.parts) check(part.bytes, state);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto state = read_state({data, size});
    if (!state) return 0;
    for (const LeftRendition& rendition : state->left.renditions) check(rendition, *state);
    if (state->left.dash)
        for (const LeftTrack& track : state->left.dash->tracks) check(track.rendition, *state);
    std::vector<uint8_t> bytes, again;
    write_state(*state, bytes);
    auto read = read_state(bytes);
    CHECK(read.has_value());
    write_state(*read, again);
    CHECK(bytes == again);
    return 0;
}
