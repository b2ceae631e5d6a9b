// Fuzzes the reader of samples: what is read stays within its bounds, and a text with it added can be read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/prometheus/samples.h"

using namespace prometheus;

namespace {

bool read(std::string_view text, SampleReader& reader) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (!reader.read_line(line)) return false;
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    SampleReader reader;
    // Numbers may be written with more digits, so that the longest lines become too long.
    if (size > SampleReader::kMaxLine / 2) return 0;
    if (!read({reinterpret_cast<const char*>(data), size}, reader)) return 0;
    const Families others = reader.take();
    Text text;
    text.add(others, [](std::string_view, Type) { return Addition::kSum; });
    for (const auto& [name, family] : others) text.family(name, family.type, "Help.");
    CHECK(read(text.take(), reader));
    const Families again = reader.take();
    CHECK(again.size() == others.size());
    for (const auto& [name, family] : others) CHECK(again.at(name).values.size() == family.values.size());
    return 0;
}
