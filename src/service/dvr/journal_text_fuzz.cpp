// Fuzzes the journal's parser with any text: the open recordings that it returns are read again from their own lines.
#include <cstddef>
#include <cstdint>

#include "service/dvr/journal_text.h"

using namespace service::dvr;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<OpenRecording> open = read_journal(text);
    std::string lines;
    for (const OpenRecording& recording : open) lines += journal_line_open(recording);
    CHECK(read_journal(lines) == open);
    for (const OpenRecording& recording : open) lines += journal_line_done(recording.growing);
    CHECK(read_journal(lines).empty());
    return 0;
}
