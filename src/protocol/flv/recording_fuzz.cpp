// A file after a crash: its head, and its tags fed at once and in pieces, with the same result.
#include <cstddef>
#include <cstdint>

#include "protocol/flv/recording.h"

namespace {

flv::RecordingScan scan(std::span<const uint8_t> bytes, size_t step) {
    flv::RecordingScan scan(0, 16);
    for (size_t at = 0; at < bytes.size(); at += step)
        if (!scan.feed(bytes.subspan(at, std::min(step, bytes.size() - at)))) break;
    return scan;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    std::span<const uint8_t> bytes(data + 1, size - 1);
    auto head = flv::read_recording_head(bytes, "t");
    if (head) {
        CHECK(head->size <= bytes.size());
        size_t room = flv::recording_head_room(head->about, head->size);
        flv::RecordingScan rest(head->size, room);
        rest.feed(bytes.subspan(head->size));
        CHECK(rest.whole_end() <= bytes.size());
        if (flv::recording_head_size(head->about, 0) <= head->size)
            CHECK(flv::recording_head(head->about, rest.index(), rest.whole_end(), head->size).size() == head->size);
    }
    flv::RecordingScan whole = scan(bytes, bytes.size());
    flv::RecordingScan pieces = scan(bytes, data[0] % 64 + 1u);
    CHECK(whole.whole_end() == pieces.whole_end() && whole.whole_end() <= bytes.size());
    CHECK(whole.index().frames() == pieces.index().frames());
    CHECK(whole.index().duration_ms() == pieces.index().duration_ms());
    return 0;
}
