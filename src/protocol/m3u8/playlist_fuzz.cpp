// Arbitrary text: a playlist that could be read must be unchanged after writing and reading again, also as one of low
// latency and as a delta update of it.
#include <cstddef>
#include <cstdint>

#include "protocol/m3u8/playlist.h"

namespace {

using m3u8::MediaPlaylist;
using m3u8::Segment;
using m3u8::WrittenPlaylist;

// What the reader makes of such segments: key and map of a gap do not matter.
std::vector<Segment> whole(std::vector<Segment> segments) {
    for (Segment& segment : segments) {
        segment.parts.clear();
        if (segment.gap) segment.key = {}, segment.map_uri.clear();
    }
    return segments;
}

// A delta update has the rest of the segments, with the keys and maps that apply to them; what is open is no segment.
void check_low_latency(MediaPlaylist playlist, size_t seed) {
    playlist.target_duration_s %= 1'000;  // of a server
    playlist.can_block = true;
    playlist.part_target_us = 333'000;
    playlist.can_skip = seed % 2 == 0;
    for (size_t i = 0; i < playlist.segments.size(); ++i)
        for (size_t part = 0; part < (seed + i) % 4; ++part)
            playlist.segments[i].parts.push_back({"p.m4s", 333'000, part == 0, playlist.segments[i].gap});
    m3u8::PlaylistTail tail{.hint_uri = "h.m4s", .reports = {{"r.m3u8", seed, seed}}};
    if (!playlist.segments.empty()) {
        tail.open = playlist.segments.front();
        tail.open.discontinuity = seed % 3 == 0;
    }
    const size_t skip = m3u8::skippable(playlist);
    CHECK(skip <= playlist.segments.size());
    const size_t without = m3u8::without_parts(playlist, 333'000);
    CHECK(without <= playlist.segments.size());
    for (const size_t skipped : {size_t{0}, skip, seed % (playlist.segments.size() + 1)}) {
        const WrittenPlaylist written = m3u8::write(playlist, {skipped, without});
        std::string text = written.text;
        if (!playlist.ended) text += m3u8::write_tail(written, tail).text;
        const auto again = m3u8::read(text);
        CHECK(again.has_value());
        CHECK(again->media_sequence == playlist.media_sequence);
        CHECK(whole(again->segments) ==
              whole({playlist.segments.begin() + static_cast<ptrdiff_t>(skipped), playlist.segments.end()}));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto playlist = m3u8::read(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!playlist) return 0;
    CHECK(playlist->segments.size() <= size);
    const WrittenPlaylist written = m3u8::write(*playlist);
    auto again = m3u8::read(written.text);
    CHECK(again.has_value());
    CHECK(*again == *playlist);
    // The query of one viewer changes URIs only.
    auto personal = m3u8::read(m3u8::with_query(written, "?a=b"));
    CHECK(personal.has_value());
    for (Segment& segment : personal->segments) {
        for (std::string* uri : {&segment.uri, &segment.key.uri, &segment.map_uri}) {
            if (uri->empty()) continue;
            CHECK(uri->ends_with("a=b"));
            uri->resize(uri->size() - 4);
        }
    }
    CHECK(*personal == *playlist);
    check_low_latency(*std::move(playlist), size);
    return 0;
}
