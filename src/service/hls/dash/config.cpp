#include "service/hls/dash/config.h"

#include <algorithm>

#include "config/row_builder.h"

namespace service::hls {

std::string dash_directory(const DashConfig& dash) {
    const size_t slash = dash.mpd_file.rfind('/');
    return (slash == std::string::npos ? std::string() : dash.mpd_file.substr(0, slash + 1)) + "[stream]/";
}

void add_dash_rows(std::vector<config::Row>& rows) {
    using namespace config;
    using D = DashConfig;
    const Scope scope{"vhost/dash", kOfVhost<DashConfig>};
    rows.push_back(row(scope, "enabled", &D::enabled, none(), kLive, "DASH for this vhost."));
    rows.push_back(row(scope, "dash_fragment", &D::fragment, seconds(0.1, 3600), kLive,
                       "Length of a segment, where HLS is off: it ends at the first keyframe after so long. With HLS "
                       "its segments are DASH's too, and hls_fragment is their length."));
    rows.push_back(row(scope, "dash_update_period", &D::update_period, seconds(0.1, 86'400), kLive,
                       "Interval at which the file of the MPD is written; HTTP has the newest one. Players fetch it "
                       "as often, or once in a segment, if that is shorter."));
    rows.push_back(row(scope, "dash_timeshift", &D::timeshift, seconds(1, 86'400), kLive,
                       "How far back players can go, within the segments of dash_window_size."));
    rows.push_back(row(scope, "dash_path", &D::path, none(), kLive, "Directory of the files."));
    rows.push_back(row(scope, "dash_mpd_file", &D::mpd_file, none(), kLive,
                       "Path of the MPD below dash_path; the segments are in a directory beside it that is called as "
                       "the stream."));
    rows.push_back(row(scope, "dash_window_size", &D::window_size, count(3, 10'000), kLive, "Segments in the MPD."));
    rows.push_back(row(scope, "dash_cleanup", &D::cleanup, none(), kLive, "Files that left the MPD are deleted."));
    rows.push_back(row(scope, "dash_dispose", &D::dispose, seconds(0, 31'536'000), kLive,
                       "All of a stream's DASH is deleted so long after its publisher left; 0: never. With HLS the "
                       "longer of this and hls_dispose counts for both."));
}

}  // namespace service::hls
