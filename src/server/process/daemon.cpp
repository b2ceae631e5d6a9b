#include "server/process/daemon.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace server {
namespace {

constexpr std::string_view kRuns = "+";

[[noreturn]] void wait_for(pid_t child, int pipe) {
    std::string text;
    char buffer[4096];
    while (true) {
        ssize_t n = ::read(pipe, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        text.append(buffer, static_cast<size_t>(n));
    }
    if (text == kRuns) _exit(0);
    if (text.empty()) {
        int status = 0;
        ::waitpid(child, &status, 0);
        text = WIFSIGNALED(status) ? "srs: the server was ended by signal " + std::to_string(WTERMSIG(status)) + "\n"
                                   : "srs: the server ended while it started\n";
    }
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
    _exit(1);
}

void silence_standard_streams() {
    int null = ::open("/dev/null", O_RDWR);
    if (null < 0) return;
    for (int fd = 0; fd <= 2; ++fd) ::dup2(null, fd);
    if (null > 2) ::close(null);
}

}  // namespace

base::Result<Daemon> Daemon::start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno("daemon: pipe", errno);
    std::fflush(nullptr);
    pid_t child = ::fork();
    if (child < 0) return base::fail_errno("daemon: fork", errno);
    if (child > 0) {
        ::close(ends[1]);
        wait_for(child, ends[0]);
    }
    ::close(ends[0]);
    ::setsid();
    Daemon daemon;
    daemon.pipe_ = ends[1];
    return daemon;
}

void Daemon::report(std::string_view error) {
    if (pipe_ < 0) return;
    std::string_view text = error.empty() ? kRuns : error;
    if (::write(pipe_, text.data(), text.size()) < 0) std::perror("daemon: reporting");
    ::close(std::exchange(pipe_, -1));
    silence_standard_streams();
}

Daemon::~Daemon() {
    if (pipe_ >= 0) ::close(pipe_);
}

}  // namespace server
