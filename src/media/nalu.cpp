#include "media/nalu.h"

#include <cstring>

#include "base/bytes.h"

namespace media {

std::vector<uint8_t> remove_emulation_prevention(std::span<const uint8_t> nalu, size_t limit) {
    std::vector<uint8_t> out;
    out.reserve(std::min(nalu.size(), limit));
    int zeros = 0;
    for (uint8_t byte : nalu) {
        if (out.size() >= limit) break;
        if (zeros >= 2 && byte == 3) {
            zeros = 0;
            continue;
        }
        zeros = byte == 0 ? zeros + 1 : 0;
        out.push_back(byte);
    }
    return out;
}

namespace {

// The position of the next 00 00 01, or end.
const uint8_t* find_start_code(const uint8_t* p, const uint8_t* end) {
    while (end - p >= 3) {
        auto* one = static_cast<const uint8_t*>(std::memchr(p + 2, 1, static_cast<size_t>(end - p - 2)));
        if (!one) return end;
        if (one[-1] == 0 && one[-2] == 0) return one - 2;
        p = one - 1;
    }
    return end;
}

}  // namespace

size_t find_start_code(std::span<const uint8_t> nalu) {
    return static_cast<size_t>(find_start_code(nalu.data(), nalu.data() + nalu.size()) - nalu.data());
}

AnnexBReader::AnnexBReader(std::span<const uint8_t> stream) : p_(stream.data()), end_(stream.data() + stream.size()) {
    p_ = find_start_code(p_, end_);
    if (p_ != end_) p_ += 3;
}

std::optional<std::span<const uint8_t>> AnnexBReader::next() {
    while (p_ != end_) {
        const uint8_t* unit = p_;
        const uint8_t* code = find_start_code(p_, end_);
        p_ = code == end_ ? end_ : code + 3;
        while (code != unit && code[-1] == 0) --code;  // trailing zeros, or the first zero of a longer start code
        if (code != unit) return std::span(unit, code);
    }
    return std::nullopt;
}

void append_length_prefixed(base::SliceBuilder& out, std::span<const uint8_t> nalu) {
    uint8_t* p = out.extend(4 + nalu.size());
    p = base::put_u32(p, static_cast<uint32_t>(nalu.size()));
    if (!nalu.empty()) std::memcpy(p, nalu.data(), nalu.size());
}

}  // namespace media
