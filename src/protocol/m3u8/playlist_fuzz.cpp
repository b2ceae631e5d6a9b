// Arbitrary text: a playlist that could be read must be unchanged after writing and reading again.
#include <cstddef>
#include <cstdint>

#include "protocol/m3u8/playlist.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto playlist = m3u8::read(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!playlist) return 0;
    CHECK(playlist->segments.size() <= size);
    auto again = m3u8::read(m3u8::write(*playlist));
    CHECK(again.has_value());
    CHECK(*again == *playlist);
    return 0;
}
