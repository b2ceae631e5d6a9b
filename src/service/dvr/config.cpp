#include "service/dvr/config.h"

#include "config/row_builder.h"

namespace service::dvr {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope global{"", kOfServer<ServerConfig>};
    rows.push_back(row(global, "dvr_journal", &ServerConfig::dvr_journal, none(), kRestart,
                       "File in which the server notes the open recordings, so that they are finished after a "
                       "crash."));

    const Scope scope{"vhost/dvr", kOfVhost<VhostConfig>};
    using D = VhostConfig;
    rows.push_back(row(scope, "enabled", &D::enabled, none(), kLive, "Records streams."));
    rows.push_back(
        row(scope, "dvr_apply", &D::dvr_apply, none(), kLive, "Streams to record: all, or app/stream names."));
    rows.push_back(row(scope, "dvr_plan", &D::dvr_plan, one_of({"session", "segment"}), kLive,
                       "session: one file per publication; segment: files of dvr_duration."));
    rows.push_back(row(scope, "dvr_path", &D::dvr_path, none(), kLive,
                       "Path of a file, .flv or .mp4. Any other path is a directory for files named "
                       "[stream].[timestamp].flv."));
    rows.push_back(row(scope, "dvr_duration", &D::dvr_duration, seconds(1, 86'400), kLive,
                       "Duration of a file with the plan segment; it ends before the first keyframe after that "
                       "time."));
    rows.push_back(row(scope, "dvr_wait_keyframe", &D::dvr_wait_keyframe, none(), kLive,
                       "Files begin at keyframes; off: at any frame, exactly at dvr_duration."));
    rows.push_back(row(scope, "time_jitter", &D::time_jitter, none(), kLive,
                       "Timestamps in a file: full: from 0 and never decreasing; zero: from 0; off: as in the "
                       "stream."));
    rows.push_back(row(scope, "dvr_keyframes", &D::dvr_keyframes, count(16, 65'536), kLive,
                       "Number of keyframes in the index of an FLV file, 18 bytes each. In the index of a "
                       "longer file some keyframes are left out."));
}

// The pattern of a directory gets a file name.
void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    constexpr std::string_view kNames[] = {"vhost", "app", "stream", "seq"};
    std::string& path = vhost.get<VhostConfig>().dvr_path;
    if (vhost.get<VhostConfig>().enabled) checks.check_variables(vhost, "vhost/dvr/dvr_path", path, kNames);
    if (!path.ends_with(".flv") && !path.ends_with(".mp4"))
        path += path.ends_with('/') ? "[stream].[timestamp].flv" : "/[stream].[timestamp].flv";
}

}  // namespace

config::Section section() { return {.service = "dvr", .add_rows = add_rows, .check_vhost = check_vhost}; }

}  // namespace service::dvr
