// Fuzzes the stream list's parser with any text: the streams that it returns are written and read again unchanged.
#include <cstddef>
#include <cstdint>

#include "service/hls/playlists/stream_list_text.h"

using namespace service::hls;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto streams = read_stream_list(text);
    CHECK(streams.size() <= kMaxListedStreams);
    const std::string lines = write_stream_list(streams);
    CHECK(write_stream_list(read_stream_list(lines)) == lines || read_stream_list(lines).size() < streams.size());
    return 0;
}
