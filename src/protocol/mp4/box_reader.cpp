#include "protocol/mp4/box_reader.h"

namespace mp4 {

namespace {

// Types are printable ASCII; some of QuickTime's contain the copyright sign.
bool plausible_type(uint32_t type) {
    for (int shift = 0; shift < 32; shift += 8) {
        uint8_t c = static_cast<uint8_t>(type >> shift);
        if ((c < 0x20 || c > 0x7e) && c != 0xa9) return false;
    }
    return true;
}

}  // namespace

std::optional<BoxHead> read_box_head(std::span<const uint8_t> bytes) {
    base::ByteReader r(bytes);
    BoxHead head;
    head.size = r.u32();
    head.type = r.u32();
    head.header_size = 8;
    if (head.size == 1) {
        head.size = r.u64();
        head.header_size = 16;
        // A size of 0 means "until the end" only in the short form.
        head.valid = head.size >= head.header_size;
    } else {
        head.valid = head.size == 0 || head.size >= head.header_size;
    }
    if (!r.ok()) return std::nullopt;
    head.valid = head.valid && plausible_type(head.type);
    return head;
}

std::optional<Box> BoxReader::next() {
    if (rest_.empty()) return std::nullopt;
    auto head = read_box_head(rest_);
    if (head && head->size == 0) head->size = rest_.size();
    if (!head || !head->valid || head->size > rest_.size()) {
        ok_ = false;
        rest_ = {};
        return std::nullopt;
    }
    Box box{head->type, rest_.subspan(head->header_size, head->size - head->header_size)};
    rest_ = rest_.subspan(head->size);
    return box;
}

}  // namespace mp4
