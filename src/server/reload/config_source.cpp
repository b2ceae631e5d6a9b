#include "server/reload/config_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <memory>

#include "runtime/disk/blocking_file.h"

extern char** environ;

namespace server {
namespace {

// mark: receives the file's state.
base::Result<std::string> read_file(const std::string& path, FileMark& mark) {
    const runtime::BlockingFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    mark = mark_of_missing(path);
    if (!file.is_open() && errno == ENOENT) return base::fail(base::Code::kNotFound, "no such file");
    if (!file.is_open()) return base::fail_errno("cannot be opened", errno);
    struct stat info;
    if (fstat(file.fd(), &info) != 0) return base::fail_errno("cannot be looked at", errno);
    mark = mark_of(path, info);
    if (S_ISDIR(info.st_mode)) return base::fail(base::Code::kConfig, "is a directory");
    return file.read_all(config::ParserLimits::kFileBytes + 1);  // the parser refuses larger files
}

std::string plural(size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

ConfigSource::ConfigSource(std::string path) : path_(std::move(path)) {
    char directory[PATH_MAX];
    if (getcwd(directory, sizeof directory)) start_directory_ = std::string(directory) + "/";
}

config::Loaded ConfigSource::load(FileMarks* read) const {
    config::LoadInput input;
    input.path = path_;
    input.server_id = server_id_;
    input.read = [this, read](const std::string& path) {
        FileMark mark;
        auto text = read_file(path.starts_with('/') ? path : start_directory_ + path, mark);
        if (read) read->push_back(std::move(mark));
        return text;
    };
    for (char** entry = environ; entry && *entry; ++entry) input.environment.emplace_back(*entry);
    return config::load(input);
}

std::string ConfigSource::name() const { return path_.empty() ? "the environment" : path_; }

std::string describe(const config::Loaded& loaded, const std::string& name) {
    std::string text;
    const config::Problems& problems = loaded.problems;
    for (const config::Problem& problem : problems.all()) text += problem.describe() + "\n";
    size_t more = problems.errors() + problems.warnings() - problems.all().size();
    if (more > 0) text += fmt::format("... and {} more\n", more);
    return text + fmt::format("{}: {}, {}, {}\n", name, problems.errors() > 0 ? "invalid" : "valid",
                              plural(problems.errors(), "error"), plural(problems.warnings(), "warning"));
}

}  // namespace server
