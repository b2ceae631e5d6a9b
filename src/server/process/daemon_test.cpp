// Runs in a child of the test: Daemon::start() ends the process that calls it.

#include "server/process/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

namespace server {
namespace {

struct Outcome {
    int status;
    std::string said;
};

// `body` runs in the background process. Returns the output and the exit status of the foreground process.
Outcome start_daemon(void (*body)(Daemon& daemon)) {
    int ends[2];
    if (pipe(ends) != 0) return {-1, "pipe"};
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        auto daemon = Daemon::start();
        if (!daemon) _exit(9);
        body(*daemon);
        _exit(0);
    }
    close(ends[1]);
    Outcome outcome{};
    waitpid(child, &outcome.status, 0);
    char buffer[512];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        outcome.said.append(buffer, static_cast<size_t>(n));
    close(ends[0]);
    return outcome;
}

TEST(Daemon, TheFrontEndsWell) {
    Outcome outcome = start_daemon([](Daemon& daemon) {
        daemon.report("");
        fprintf(stderr, "nobody hears this");
    });
    EXPECT_EQ(WEXITSTATUS(outcome.status), 0);
    EXPECT_EQ(outcome.said, "");
}

TEST(Daemon, TheFrontSaysWhatWentWrong) {
    Outcome outcome = start_daemon([](Daemon& daemon) { daemon.report("srs: the port is in use\n"); });
    EXPECT_EQ(WEXITSTATUS(outcome.status), 1);
    EXPECT_EQ(outcome.said, "srs: the port is in use\n");
}

TEST(Daemon, TheFrontNoticesASuddenEnd) {
    EXPECT_EQ(start_daemon([](Daemon&) { _exit(3); }).said, "srs: the server ended while it started\n");
    EXPECT_EQ(start_daemon([](Daemon&) { raise(SIGKILL); }).said, "srs: the server was ended by signal 9\n");
}

TEST(Daemon, LeadsASessionOfItsOwn) {
    Outcome outcome = start_daemon([](Daemon& daemon) { daemon.report(getsid(0) == getpid() ? "" : "no session\n"); });
    EXPECT_EQ(outcome.said, "");
    EXPECT_EQ(WEXITSTATUS(outcome.status), 0);
}

TEST(Daemon, InTheForegroundReportDoesNothing) {
    Daemon daemon;
    daemon.report("");
    daemon.report("error\n");
    EXPECT_EQ(fcntl(2, F_GETFD) >= 0, true);
}

}  // namespace
}  // namespace server
