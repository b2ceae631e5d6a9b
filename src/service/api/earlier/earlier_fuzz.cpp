// Fuzzes what another process says of its streams: it is read again as it is written, and stays within its bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "service/api/earlier/earlier.h"

using namespace service::api;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    EarlierStreams streams, again;
    size_t total = 0;
    if (!read_earlier_streams({reinterpret_cast<const char*>(data), size}, streams, total)) return 0;
    CHECK(streams.size() <= Earlier::kPieceEntries);
    Json list = Json::array();
    for (const auto& [key, stream] : streams) list.push_back(earlier_stream_json(key, stream));
    Json page = {{"total", total}, {"streams", std::move(list)}};
    // A name with a byte 0 has been refused.
    CHECK(read_earlier_streams(base::to_text(page), again, total) && again == streams);
    add_counts(page, page);
    return 0;
}
