// Any bytes as the texts of clients: the manifest stays well-formed, with the same elements as with other texts, and
// has no character that XML does not have.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "protocol/mpd/mpd.h"

namespace {

mpd::Manifest with(const std::string& text) {
    mpd::Representation one;
    one.id = one.codecs = one.initialization = one.media = text;
    one.segments = {{0, 1}};
    mpd::Track track{.language = text, .label = text, .representations = {one}};
    mpd::Manifest manifest;
    manifest.time_url = text;
    manifest.periods = {{text, 0, {track}}};
    return manifest;
}

size_t count(const std::string& text, char c) { return static_cast<size_t>(std::ranges::count(text, c)); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::string x = text.empty() ? text : "x";
    const std::string written = mpd::write(with(text)).personal(text, text), plain = mpd::write(with(x)).personal(x, x);
    for (const char c : {'<', '>', '"', '\n'}) CHECK(count(written, c) == count(plain, c));
    const std::string escaped = mpd::escape(text);
    // Characters that XML has are kept.
    CHECK(std::ranges::none_of(escaped, [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == '<' || c == '"'; }));
    for (size_t at = escaped.find('&'); at != escaped.npos; at = escaped.find('&', at + 1))
        CHECK(escaped.find(';', at) - at <= 5);
    return 0;
}
