// Arbitrary text: a playlist that could be read must be unchanged after writing and reading again.
#include <cstddef>
#include <cstdint>

#include "protocol/m3u8/playlist.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto playlist = m3u8::read(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!playlist) return 0;
    CHECK(playlist->segments.size() <= size);
    const m3u8::WrittenPlaylist written = m3u8::write(*playlist);
    auto again = m3u8::read(written.text);
    CHECK(again.has_value());
    CHECK(*again == *playlist);
    // The query of one viewer changes URIs only.
    auto personal = m3u8::read(m3u8::with_query(written, "?a=b"));
    CHECK(personal.has_value());
    for (m3u8::Segment& segment : personal->segments) {
        for (std::string* uri : {&segment.uri, &segment.key.uri, &segment.map_uri}) {
            if (uri->empty()) continue;
            CHECK(uri->ends_with("a=b"));
            uri->resize(uri->size() - 4);
        }
    }
    CHECK(*personal == *playlist);
    return 0;
}
