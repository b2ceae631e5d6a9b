// Any text: what is read of it is written and read again as the same.
#include <cstddef>
#include <cstdint>

#include "service/hls/roll_text.h"

using namespace service::hls;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto streams = read_roll(text);
    CHECK(streams.size() <= kMostOnRoll);
    const std::string lines = write_roll(streams);
    CHECK(write_roll(read_roll(lines)) == lines || read_roll(lines).size() < streams.size());
    return 0;
}
