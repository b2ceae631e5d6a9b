#include "server/upgrade/program_call.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "runtime/threads/process.h"

namespace server {
namespace {

constexpr const char* kVariable = "SRS_UPGRADE_CHANNEL";
constexpr int kChannel = 3;  // in the started process

class FileActions {
  public:
    FileActions() { posix_spawn_file_actions_init(&actions_); }
    ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
    FileActions(const FileActions&) = delete;
    posix_spawn_file_actions_t* get() { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_;
};

// This process blocks the signals that it reads from a descriptor, and ignores SIGPIPE.
class Attributes {
  public:
    Attributes() {
        posix_spawnattr_init(&attributes_);
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~Attributes() { posix_spawnattr_destroy(&attributes_); }
    Attributes(const Attributes&) = delete;
    posix_spawnattr_t* get() { return &attributes_; }

  private:
    posix_spawnattr_t attributes_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

}  // namespace

ProgramCall ProgramCall::of(int argc, const char* const* argv) {
    ProgramCall call;
    std::error_code ignored;
    call.directory = std::filesystem::current_path(ignored).string();
    call.arguments.assign(argv, argv + argc);
    const std::string name = argc > 0 ? argv[0] : "";
    call.program = name.contains('/') ? name : runtime::find_program(name);
    if (!call.program.empty()) call.program = (std::filesystem::path(call.directory) / call.program).string();
    return call;
}

base::Result<pid_t> ProgramCall::start(int channel, const std::vector<std::string>& variables) const {
    if (program.empty()) return base::fail(base::Code::kNotFound, "the path of the program is not known");
    std::vector<std::string> environment = variables;
    for (char** variable = environ; *variable; ++variable) environment.emplace_back(*variable);
    environment.push_back(fmt::format("{}={}", kVariable, kChannel));
    FileActions actions;
    // The server's user may be unable to enter where root has started it; absolute paths need no directory.
    if (faccessat(AT_FDCWD, directory.c_str(), X_OK, AT_EACCESS) == 0)
        posix_spawn_file_actions_addchdir_np(actions.get(), directory.c_str());
    posix_spawn_file_actions_adddup2(actions.get(), channel, kChannel);
    Attributes attributes;
    pid_t pid = 0;
    const int error = posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), pointers(arguments).data(),
                                  pointers(environment).data());
    if (error != 0) return base::fail_errno(fmt::format("starting {}", program), error);
    return pid;
}

int take_channel_of_environment() {
    const char* value = std::getenv(kVariable);
    if (!value) return -1;
    const std::string_view text = value;
    int fd = -1, type = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    unsetenv(kVariable);
    socklen_t length = sizeof type;
    if (!is_number || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) return -1;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

}  // namespace server
