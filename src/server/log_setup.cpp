#include "server/log_setup.h"

#include <fmt/format.h>

#include "server/process/directories.h"

namespace server {

base::log::Options log_options(const config::Snapshot& snapshot) {
    base::log::Options options;
    options.console = snapshot.global.srs_log_tank == config::LogTank::kConsole;
    options.file = snapshot.global.srs_log_file;
    options.level = snapshot.log_level();
    options.utc = snapshot.global.utc_time;
    options.usual_names = !snapshot.global.srs_log_level_v2.empty();
    return options;
}

bool same_log_file(const config::Snapshot& a, const config::Snapshot& b) {
    const base::log::Options x = log_options(a), y = log_options(b);
    return x.console == y.console && (x.console || x.file == y.file);
}

base::Result<void> open_log(const config::Snapshot& snapshot) {
    const base::log::Options options = log_options(snapshot);
    const std::string where = fmt::format("srs_log_file ({})", snapshot.where("srs_log_file"));
    if (!options.console) TRY(make_directory_of(options.file), where);
    TRY(base::log::open(options), where);
    return {};
}

}  // namespace server
