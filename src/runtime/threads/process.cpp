#include "runtime/threads/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/shrink.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/immortal.h"
#include "runtime/loop/reactor.h"
#include "runtime/loop/services.h"
#include "runtime/loop/sync.h"

extern char** environ;

namespace runtime {
namespace detail {
namespace {

// A child process, from its start until it is reaped.
class Child final : public ParkedHandler {
  public:
    base::Result<void> start(const ProcessOptions& options);
    // Reads its exit status if it has ended.
    bool reap();
    // Waits until it may have ended.
    base::Result<void> wait_a_moment(Deadline deadline);
    // Kills it; it is reaped once it has died.
    void die();
    void signal(int number) {
        if (!reaped_) kill(-pid_, number);
    }
    void wait_for_end() {  // of a killed process; blocks
        siginfo_t info{};
        if (!reaped_) waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
        reaped_ = true;
    }

    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override { on_readable(); }

    pid_t pid() const { return pid_; }
    const Process::Exit& exit() const { return exit_; }

  private:
    base::Result<void> watch_end();

    pid_t pid_ = -1;
    Watch watch_;
    bool reaped_ = false;
    Process::Exit exit_;
};

// Killed, but not dead yet: the kernel needs a moment, and we do not wait for it.
Immortal<std::vector<std::unique_ptr<Child>>> immortal_dying;
auto& dying = immortal_dying.value;

struct SpawnAttributes {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    SpawnAttributes() {
        posix_spawn_file_actions_init(&files);
        posix_spawnattr_init(&attributes);
    }
    SpawnAttributes(const SpawnAttributes&) = delete;
    ~SpawnAttributes() {
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
    }
};

// The child gets none of our descriptors, default signals, and a process group of its own: a Ctrl-C at our terminal
// reaches only us, and a kill reaches the child's children too.
void prepare(SpawnAttributes& spawn, const ProcessOptions& options) {
    const bool to_file = !options.output_file.empty();
    const char* output = to_file ? options.output_file.c_str() : "/dev/null";
    posix_spawn_file_actions_addopen(&spawn.files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&spawn.files, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&spawn.files, 1, 2);
    posix_spawn_file_actions_addclosefrom_np(&spawn.files, 3);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&spawn.attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&spawn.attributes, &signals);
    posix_spawnattr_setpgroup(&spawn.attributes, 0);
    posix_spawnattr_setflags(&spawn.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

base::Result<void> Child::start(const ProcessOptions& options) {
    if (options.arguments.empty()) return base::fail(base::Code::kConfig, "no program to start");
    std::vector<char*> arguments;
    for (const auto& argument : options.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    SpawnAttributes spawn;
    prepare(spawn, options);
    const int error = posix_spawnp(&pid_, arguments[0], &spawn.files, &spawn.attributes, arguments.data(), environ);
    if (error) {
        reaped_ = true;
        return base::fail_errno(fmt::format("starting {}", options.arguments[0]), error);
    }
    return watch_end();
}

base::Result<void> Child::watch_end() {
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));  // always close-on-exec
    // Under valgrind and some sandboxes the call does not exist: then wait_a_moment() polls.
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return {};
    base::Result<void> watched;
    if (fd < 0) {
        watched = base::fail_errno("pidfd_open", errno);
    } else {
        watched = watch_.open(fd, EPOLLIN | EPOLLET);
    }
    if (!watched) {
        signal(SIGKILL);
        wait_for_end();
    }
    // Trying would not report more than the event does.
    watch_.read_would_block();
    return watched;
}

base::Result<void> Child::wait_a_moment(Deadline deadline) {
    constexpr int64_t kPollMs = 20;
    if (watch_.fd() >= 0) {
        watch_.read_would_block();
        return watch_.wait_readable(deadline);
    }
    if (deadline.passed()) return wake_result(Wake::kTimeout);
    return sleep_until(earlier(deadline, Deadline::in_ms(kPollMs)));
}

void Child::die() {
    signal(SIGKILL);
    // A child that cannot be watched is reaped when the next one dies, or at the loop's end.
    if (watch_.fd() >= 0) watch_.park(*this);
}

bool Child::reap() {
    if (reaped_) return true;
    siginfo_t info{};
    const int result = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG);
    if (result < 0 ? errno != ECHILD : info.si_pid == 0) return false;
    reaped_ = true;
    (info.si_code == CLD_EXITED ? exit_.code : exit_.signal) = info.si_status;
    return true;
}

void Child::on_readable() {
    if (!reap()) return;
    std::erase_if(dying, [this](const auto& child) { return child.get() == this; });
}

class ChildProcess final : public Process {
  public:
    explicit ChildProcess(std::unique_ptr<Child> child) : child_(std::move(child)) {}

    ~ChildProcess() override {
        if (child_->reap()) return;
        child_->die();
        std::erase_if(dying, [](const auto& child) { return child->reap(); });
        dying.push_back(std::move(child_));
        stop_at_shutdown(Service::kProcesses, [] {
            for (auto& child : dying) child->wait_for_end();
            dying.clear();
            base::shrink(dying);
        });
    }

    pid_t pid() const override { return child_->pid(); }

    base::Result<Exit> wait(Deadline deadline) override {
        TRY(check_cancelled());
        while (!child_->reap()) TRY(child_->wait_a_moment(deadline));
        return child_->exit();
    }

    void send_signal(int signal) override { child_->signal(signal); }

  private:
    std::unique_ptr<Child> child_;
};

}  // namespace

}  // namespace detail

base::Result<std::unique_ptr<Process>> start_process(const ProcessOptions& options) {
    auto child = std::make_unique<detail::Child>();
    TRY(child->start(options));
    return std::make_unique<detail::ChildProcess>(std::move(child));
}

}  // namespace runtime
