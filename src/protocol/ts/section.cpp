#include "protocol/ts/section.h"

#include <algorithm>

#include "protocol/ts/crc32.h"

namespace ts {
namespace {

constexpr size_t kSectionPrefix = 3, kLeastSection = 12;
constexpr uint8_t kStuffing = 0xff;

size_t size_of_section(std::span<const uint8_t> bytes) {
    return kSectionPrefix + static_cast<size_t>((bytes[1] & 0x0f) << 8 | bytes[2]);
}

}  // namespace

uint64_t SectionReader::feed(std::span<const uint8_t> payload, bool starts, const Take& take) {
    if (!starts) return append(payload, take);
    const size_t pointer = payload[0];
    if (pointer >= payload.size()) {
        open_ = false;
        return 1;
    }
    uint64_t bad = append(payload.subspan(1, pointer), take);
    open_ = true;
    bytes_.clear();
    bad += append(payload.subspan(1 + pointer), take);
    return bad;
}

uint64_t SectionReader::append(std::span<const uint8_t> bytes, const Take& take) {
    if (!open_) return 0;
    uint64_t bad = 0;
    // Sections that are whole in this packet are read in place.
    std::span<const uint8_t> rest = bytes;
    if (!bytes_.empty()) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        rest = bytes_;
    }
    size_t at = 0;
    while (rest.size() - at >= kSectionPrefix && rest[at] != kStuffing) {
        const size_t size = size_of_section(rest.subspan(at));
        if (size > kMaxSection) {
            open_ = false;
            bytes_.clear();
            return bad + 1;
        }
        if (rest.size() - at < size) break;
        if (!take_whole(rest.subspan(at, size), take)) ++bad;
        at += size;
    }
    // What follows is stuffing, or the beginning of a section.
    if (at < rest.size() && rest[at] == kStuffing) open_ = false;
    if (!open_) {
        bytes_.clear();
    } else if (bytes_.empty()) {
        bytes_.assign(rest.begin() + static_cast<ptrdiff_t>(at), rest.end());
    } else {
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(at));
    }
    return bad;
}

bool SectionReader::take_whole(std::span<const uint8_t> section, const Take& take) {
    if (section[0] != table_) return true;
    if (std::ranges::equal(section, last_)) return true;
    if (section.size() < kLeastSection || crc32(section) != 0 || !take(section)) return false;
    last_.assign(section.begin(), section.end());
    return true;
}

}  // namespace ts
