// A file fed at once and in pieces: the tags must be the same.
#include <cstddef>
#include <cstdint>

#include "protocol/flv/reader.h"

namespace {

std::vector<flv::Tag> read(std::span<const uint8_t> bytes, size_t step) {
    constexpr uint32_t kMaxBody = 4096;
    flv::Reader reader(kMaxBody);
    std::vector<flv::Tag> tags;
    for (size_t at = 0; at < bytes.size(); at += step) {
        reader.feed(bytes.subspan(at, std::min(step, bytes.size() - at)));
        for (;;) {
            auto tag = reader.next();
            if (!tag) return tags;
            if (!*tag) break;
            tags.push_back(**tag);
        }
        CHECK(reader.buffered() <= kMaxBody + flv::kTagHeaderSize + step);
    }
    return tags;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    std::span<const uint8_t> bytes(data + 1, size - 1);
    auto whole = read(bytes, bytes.size());
    auto pieces = read(bytes, data[0] % 64 + 1u);
    CHECK(whole.size() == pieces.size());
    for (size_t i = 0; i < whole.size(); ++i) {
        CHECK(whole[i].type == pieces[i].type && whole[i].timestamp == pieces[i].timestamp);
        CHECK(whole[i].body == pieces[i].body);
    }
    return 0;
}
