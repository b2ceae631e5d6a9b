// The rows of recording.

#include "config/row_builder.h"

namespace config {

void add_dvr_rows(std::vector<Row>& rows) {
    const Scope global{"", [](const auto& root) -> decltype(auto) { return (root.snapshot->global); }};
    rows.push_back(row(global, "dvr_journal", &Global::dvr_journal, "./objs/dvr.journal", none(), kRestart,
                       "Where the server notes the recordings that are open, for the start after a crash."));

    const Scope scope{"vhost/dvr", [](const auto& root) -> decltype(auto) { return (root.vhost->dvr); }};
    using D = VhostDvr;
    rows.push_back(row(scope, "enabled", &D::enabled, false, none(), kLive, "Records streams."));
    rows.push_back(
        row(scope, "dvr_apply", &D::dvr_apply, {"all"}, none(), kLive, "Streams to record: all, or app/stream names."));
    rows.push_back(row(scope, "dvr_plan", &D::dvr_plan, "session", one_of({"session", "segment"}), kLive,
                       "session: a file per publish; segment: files of dvr_duration."));
    rows.push_back(row(scope, "dvr_path", &D::dvr_path, "./objs/nginx/html/[app]/[stream].[timestamp].flv", none(),
                       kLive,
                       "Path of a file, .flv or .mp4; one that ends in neither is a directory for "
                       "[stream].[timestamp].flv."));
    rows.push_back(row(scope, "dvr_duration", &D::dvr_duration, 30, seconds(1, 86'400), kLive,
                       "Length of a file in the plan segment; it ends before the first keyframe after that."));
    rows.push_back(row(scope, "dvr_wait_keyframe", &D::dvr_wait_keyframe, true, none(), kLive,
                       "Files begin at keyframes; off: at any frame, and to the time."));
    rows.push_back(row(scope, "time_jitter", &D::time_jitter, TimeJitter::kFull, none(), kLive,
                       "Times in a file: full: from 0 and never back; zero: from 0; off: the stream's own."));
    rows.push_back(row(scope, "dvr_keyframes", &D::dvr_keyframes, 2000, count(16, 65'536), kLive,
                       "Room for so many keyframes, 18 bytes each, in the index of an FLV file; a longer file's index "
                       "leaves some out."));
}

}  // namespace config
