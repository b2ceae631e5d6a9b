// Fuzzes the reader of the outbox's file with any text: what it returns is read again from its own lines, and a
// compacted text has the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "service/hook/outbox_text.h"

using namespace service::hook;

namespace {

std::string lines_of(const SavedOutbox& saved) {
    std::string lines;
    for (const SavedReport& report : saved.reports) lines += report_line(report);
    for (const SavedSession& session : saved.sessions) lines += session_line(session);
    return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const SavedOutbox saved = read_outbox(text);
    const std::string lines = lines_of(saved);
    CHECK(lines_of(read_outbox(lines)) == lines);
    std::vector<uint64_t> live;
    std::string done;
    for (const SavedReport& report : saved.reports) live.push_back(report.number);
    for (const SavedSession& session : saved.sessions) live.push_back(session.number);
    std::ranges::sort(live);
    CHECK(lines_of(read_outbox(compact_outbox(text, live))) == lines);
    for (const uint64_t number : live) done += done_line(number);
    CHECK(lines_of(read_outbox(lines + done)).empty());
    return 0;
}
