#include "server/process/resources.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/socket/tls.h"
#include "runtime/threads/process.h"
#include "server/process/directories.h"
#include "server/process/privileges.h"
#include "server/services.h"

namespace server {
namespace {

bool is_allowed(const std::string& file, int mode) { return faccessat(AT_FDCWD, file.c_str(), mode, AT_EACCESS) == 0; }

bool is_forbidden(const std::string& file) { return !is_allowed(file, R_OK) && errno == EACCES; }

class Check {
  public:
    Check(const config::Snapshot& snapshot, CheckedAt when, config::Problems& problems)
        : snapshot_(snapshot), when_(when), problems_(problems) {}

    void check_pair(const service::KeyPair& pair) {
        const config::Location location = snapshot_.location_of("", pair.block + "/key");
        if (when_ == CheckedAt::kReload && (is_forbidden(pair.key) || is_forbidden(pair.cert))) return;
        {
            const RootScope root;
            if (auto loaded = runtime::tls_server_context(pair.cert, pair.key); !loaded)
                return problems_.error(location, fmt::format("{}: {}", pair.block, loaded.error().text()));
        }
        if (has_user() && !is_allowed(pair.key, R_OK))
            problems_.warning(location, fmt::format("{}/key {}: uid {} cannot read it again at a reload", pair.block,
                                                    pair.key, geteuid()));
    }

    void check_output(const service::OutputFile& output) {
        const std::string reason = unwritable_reason(output.path);
        if (reason.empty()) return;
        std::string text = fmt::format("{} {}: {}", output.what, output.path, reason);
        if (output.is_fatal && has_user())
            problems_.error(output.location, std::move(text));
        else
            problems_.warning(output.location, std::move(text));
    }

    // A file of the server itself, which the start opens.
    void check_own_file(const char* directive, const std::string& file) {
        const std::string reason = unwritable_reason(file);
        const config::Location location = snapshot_.location_of("", directive);
        std::error_code error;
        if (std::filesystem::is_directory(file, error)) {
            problems_.error(location, fmt::format("{} {}: is a directory", directive, file));
        } else if (std::filesystem::exists(file, error)) {
            if (!is_allowed(file, W_OK))
                problems_.error(location, fmt::format("{} {}: uid {} cannot write to it", directive, file, geteuid()));
            else if (!reason.empty() && has_user())
                problems_.warning(location, fmt::format("{} {}: {}", directive, file, reason));
        } else if (!reason.empty()) {
            problems_.error(location, fmt::format("{} {}: {}", directive, file, reason));
        }
    }

    void check_program(const service::Program& program) {
        if (program.program.find('[') != std::string::npos || !runtime::find_program(program.program).empty()) return;
        problems_.warning(program.location,
                          fmt::format("{}: {} does not exist or is not executable", program.what, program.program));
    }

  private:
    bool has_user() const { return !snapshot_.global.user.empty(); }

    const config::Snapshot& snapshot_;
    CheckedAt when_;
    config::Problems& problems_;
};

}  // namespace

void check_resources(const config::Snapshot& snapshot, CheckedAt when, config::Problems& problems) {
    Check check(snapshot, when, problems);
    if (when == CheckedAt::kStart) {
        check.check_own_file("pid", snapshot.global.pid);
        if (snapshot.global.srs_log_tank == config::LogTank::kFile)
            check.check_own_file("srs_log_file", snapshot.global.srs_log_file);
    }
    for (const service::Description* service : services()) {
        if (service->key_pairs)
            for (const service::KeyPair& pair : service->key_pairs(snapshot)) check.check_pair(pair);
        if (service->outputs)
            for (const service::OutputFile& output : service->outputs(snapshot)) check.check_output(output);
        if (service->programs)
            for (const service::Program& program : service->programs(snapshot)) check.check_program(program);
    }
}

}  // namespace server
