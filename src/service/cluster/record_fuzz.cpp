#include <algorithm>
#include <cstdint>

#include "service/cluster/record.h"

namespace {

void check_address(const std::string& url) {
    if (url.empty()) return;
    CHECK(url.find("://") != url.npos);
    for (const char c : url) CHECK(static_cast<unsigned char>(c) > ' ');
}

}  // namespace

// The first byte: whether it is read as a record in Redis or as the answer of a coworker. Addresses that are taken have
// no control characters, and a record that was written is read as it was.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace service::cluster;
    if (size < 1) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    if (data[0] % 2 == 0) {
        const auto record = parse_record(text);
        if (!record) return 0;
        check_address(record->rtmp);
        check_address(record->http);
        const auto again = parse_record(to_text(*record));
        if (again) CHECK(again->rtmp == record->rtmp && again->http == record->http);
    } else if (const auto record = parse_coworker_answer(text)) {
        check_address(record->rtmp);
    }
    return 0;
}
