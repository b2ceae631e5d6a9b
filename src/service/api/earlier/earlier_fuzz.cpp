// Fuzzes what another process says of its streams: it is read again as it is written, and stays within its bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "runtime/loop/coroutine.h"
#include "service/api/earlier/answer_text.h"
#include "service/api/earlier/earlier.h"

using namespace service::api;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const bool is_started = runtime::init().has_value();  // what is long yields
    CHECK(is_started);
    EarlierStreams streams, again;
    size_t total = 0;
    const auto read = read_answer({reinterpret_cast<const char*>(data), size});
    if (!read || !read_earlier_streams(*read, streams, total)) return 0;
    CHECK(streams.size() <= Earlier::kPieceEntries);
    Json list = Json::array();
    for (const auto& [key, stream] : streams) list.push_back(earlier_stream_json(key, stream));
    Json page = {{"total", total}, {"streams", std::move(list)}};
    const auto text = write_answer(page);
    CHECK(text && *text == base::to_text(page));
    // A name with a byte 0 has been refused.
    CHECK(read_earlier_streams(*read_answer(*text), again, total) && again == streams);
    add_counts(page, page);
    return 0;
}
