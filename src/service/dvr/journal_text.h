#pragma once
// The text of the journal of open recordings (journal.h): a line when a recording begins and one when it is complete.
// Pure.
//
// A line: "+" or "-", and for "+" behind it, each after a tab: vhost, app, stream, growing path, final path; for "-"
// the growing path. '%', tabs and control characters stand as %XX. Lines that are not whole are passed over.

#include <string>
#include <string_view>
#include <vector>

#include "live/hub/stream.h"

namespace service::dvr {

struct OpenRecording {
    live::StreamKey stream;
    std::string growing;  // the path while it grows
    std::string path;     // the one it shall have
    bool operator==(const OpenRecording&) const = default;
};

// What is open after all of these lines.
std::vector<OpenRecording> read_journal(std::string_view text);
std::string journal_line_open(const OpenRecording& recording);
std::string journal_line_done(std::string_view growing);

}  // namespace service::dvr
