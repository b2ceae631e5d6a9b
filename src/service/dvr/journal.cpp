#include "service/dvr/journal.h"

#include "base/log.h"

namespace service::dvr {

using base::Result;
using runtime::LineJournal;

Journal::Journal(std::string path)
    : file_({.path = path,
             .opened =
                 [this](std::string_view text) {
                     left_ = read_journal(text);
                     open_.insert(open_.begin(), left_.begin(), left_.end());
                 },
             .compaction = [this]() -> LineJournal::Compaction {
                 return [open_ones = open_](std::string_view) {
                     std::string text;
                     for (const OpenRecording& recording : open_ones) text += journal_line_open(recording);
                     return text;
                 };
             },
             .failed =
                 [this, path](const base::Error& error) {
                     runtime::error_some(failure_log_,
                                         "the journal of recordings {}: {}; recordings left by a crash are not "
                                         "finished by the next start",
                                         path, error.describe());
                 }}) {}

Result<std::vector<OpenRecording>> Journal::open() {
    TRY(file_.open(), "the journal of recordings");
    file_.compact();
    return left_;
}

void Journal::opened(const OpenRecording& recording, Written written) {
    open_.push_back(recording);
    file_.append(journal_line_open(recording), [written = std::move(written)](bool) mutable {
        if (written) written();
    });
}

void Journal::done(const std::string& growing) {
    std::erase_if(open_, [&](const OpenRecording& r) { return r.growing == growing; });
    file_.append(journal_line_done(growing));
}

}  // namespace service::dvr
