// Fuzzes the reader of access_log's lines: what is read is written, read again, and the same; the line is one line of
// valid JSON.
#include <cstddef>
#include <cstdint>

#include "base/json.h"
#include "base/result.h"
#include "net/sessions/session_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static_cast<void>(net::ended_ms_of(text));
    const auto read = net::parse_session_line(text);
    if (!read) return 0;
    CHECK(read->ended_ms > 0);
    const std::string line = net::session_json_line(*read, net::all_session_fields());
    CHECK(line.find('\n') == line.npos && !base::parse_json(line).is_discarded());
    const auto again = net::parse_session_line(line);
    CHECK(again && again->ended_ms == read->ended_ms);
    CHECK(net::ended_ms_of(line) == read->ended_ms);
    CHECK(net::session_json_line(*again, net::all_session_fields()) == line);
    CHECK(net::session_clf_line(*read).find('\n') == std::string::npos);
    return 0;
}
