#pragma once
// The text of the journal of open recordings (journal.h): a line when a recording begins and one when it is complete.
// Pure.
//
// A line is "+" or "-". After "+", each preceded by a tab: vhost, app, stream, growing path, final path; after "-": the
// growing path. '%', tabs and control characters are escaped as %XX. Incomplete lines are skipped.

#include <string>
#include <string_view>
#include <vector>

#include "live/hub/stream.h"

namespace service::dvr {

struct OpenRecording {
    live::StreamKey stream;
    std::string growing;  // the path while it is written
    std::string path;     // the final path
    bool operator==(const OpenRecording&) const = default;
};

// The recordings that are open after all of these lines.
std::vector<OpenRecording> read_journal(std::string_view text);
std::string journal_line_open(const OpenRecording& recording);
std::string journal_line_done(std::string_view growing);

}  // namespace service::dvr
