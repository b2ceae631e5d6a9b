#include "runtime/threads/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/shrink.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/immortal.h"
#include "runtime/loop/reactor.h"
#include "runtime/loop/services.h"
#include "runtime/loop/sync.h"
#include "runtime/threads/thread_pool.h"

extern char** environ;

namespace runtime {
namespace detail {
namespace {

// A child process, from its start until it is reaped.
class Child final : public ParkedHandler {
  public:
    explicit Child(pid_t pid) : pid_(pid) {}
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
        if (!reaped_) waitpid(pid_, nullptr, 0);
        reaped_ = true;
    }

    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override { on_readable(); }

    pid_t pid() const { return pid_; }
    const Process::Exit& exit() const { return exit_; }

    // So that its exit wakes. Without it the process is killed.
    base::Result<void> watch_end();

  private:
    const pid_t pid_;
    Watch watch_;
    bool reaped_ = false;
    Process::Exit exit_;
};

// Killed, but not dead yet: the kernel needs a moment, and we do not wait for it.
Immortal<std::vector<std::unique_ptr<Child>>> immortal_dying;
auto& dying = immortal_dying.value;

// Starts processes, one after another: a process that starts another is suspended, the thread alone, until that has
// loaded its program, which on a busy machine takes long. The kernel kills children when the thread that started them
// ends, so it lives as long as the loop.
ThreadPool* starter = nullptr;

void stop_processes() {
    stop_pool(starter);
    for (auto& child : dying) child->wait_for_end();
    dying.clear();
    base::shrink(dying);
}

void kill_and_forget(std::unique_ptr<Child> child) {
    child->die();
    std::erase_if(dying, [](const auto& other) { return other->reap(); });
    dying.push_back(std::move(child));
}

// All that the new process needs, prepared before it exists: it shares our memory until it has loaded its program, and
// may only make system calls.
struct Launch {
    char** arguments;
    char** environment;
    const char* output;
    const char* error;
    pid_t parent;
    int report;  // a Failure is written there; closed by execvpe
};

struct Failure {
    int error = 0;
    int target = -1;  // the standard descriptor whose file could not be opened
};

[[noreturn]] void give_up(const Launch& launch, int target = -1) {
    const Failure failure{errno, target};
    (void)!write(launch.report, &failure, sizeof failure);
    _exit(127);
}

void become_standard(const Launch& launch, const char* path, int flags, int target) {
    const int fd = open(path, flags, 0644);
    if (fd < 0 || (fd != target && dup2(fd, target) < 0)) give_up(launch, target);
}

// Our own descriptors are close-on-exec; those of libraries need not be.
void close_others_on_exec(const Launch& launch) {
    constexpr int kFirst = 3, kMost = 4096;
    if (syscall(SYS_close_range, kFirst, ~0u, CLOSE_RANGE_CLOEXEC) == 0) return;
    for (int fd = kFirst; fd < kMost; ++fd)  // a kernel before 5.11, or valgrind
        if (fd != launch.report) close(fd);
}

// In the new process: no descriptors of ours, default signals, and a process group of its own: a Ctrl-C at our terminal
// reaches only us, and a kill reaches the child's children too.
[[noreturn]] void run_child(const Launch& launch) {
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) sigaction(number, &by_default, nullptr);
    setpgid(0, 0);
    // Its parent in this respect is the thread, not the process. If that has ended already, no signal will come.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(launch);
    if (getppid() != launch.parent) _exit(127);
    become_standard(launch, "/dev/null", O_RDONLY, 0);
    become_standard(launch, launch.output, O_WRONLY | O_CREAT | O_APPEND, 1);
    if (launch.error)
        become_standard(launch, launch.error, O_WRONLY | O_CREAT | O_APPEND, 2);
    else if (dup2(1, 2) < 0)
        give_up(launch);
    close_others_on_exec(launch);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvpe(launch.arguments[0], launch.arguments, launch.environment);
    give_up(launch);
}

// posix_spawn has no attribute for PR_SET_PDEATHSIG, so this is what it does inside, with that. A signal handler must
// not run in the child, which has our memory: all signals are blocked until it has its own.
[[gnu::noinline]] pid_t launch_child(const Launch& launch) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = vfork();
    if (pid == 0) run_child(launch);
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return pid;
}

std::vector<char*> passed_environment(const std::vector<std::string>& hidden) {
    std::vector<char*> passed;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text = *entry;
        if (std::ranges::none_of(hidden, [&](const std::string& prefix) { return text.starts_with(prefix); }))
            passed.push_back(*entry);
    }
    passed.push_back(nullptr);
    return passed;
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
    const int found = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (found < 0 ? errno != ECHILD : info.si_pid == 0) return false;
    reaped_ = true;
    // While it is not reaped its number is its own: what is left of its group is meant by it.
    kill(-pid_, SIGKILL);
    int status = 0;
    rusage usage{};
    if (wait4(pid_, &status, 0, &usage) != pid_) return true;
    if (WIFSIGNALED(status)) exit_.signal = WTERMSIG(status);
    if (WIFEXITED(status)) exit_.code = WEXITSTATUS(status);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) exit_.cpu_us += time.tv_sec * 1'000'000 + time.tv_usec;
    return true;
}

void Child::on_readable() {
    if (!reap()) return;
    std::erase_if(dying, [this](const auto& child) { return child.get() == this; });
}

// A process that is being started. Used by the starter, then released on the loop.
class Start {
  public:
    explicit Start(const ProcessOptions& options)
        : options_(options), environment_(passed_environment(options_.hidden_environment)) {
        for (const auto& argument : options_.arguments) arguments_.push_back(const_cast<char*>(argument.c_str()));
        arguments_.push_back(nullptr);
    }
    Start(const Start&) = delete;
    // Nobody waited for it any more.
    ~Start() {
        if (pid_ <= 0) return;
        auto child = std::make_unique<Child>(pid_);
        if (child->watch_end()) kill_and_forget(std::move(child));
    }

    void run();  // on the starter
    base::Result<std::unique_ptr<Child>> take();

  private:
    const ProcessOptions options_;
    std::vector<char*> arguments_;
    std::vector<char*> environment_;
    pid_t pid_ = -1;
    Failure failure_;
};

void Start::run() {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        failure_.error = errno;
        return;
    }
    const Launch launch{arguments_.data(),
                        environment_.data(),
                        options_.output_file.empty() ? "/dev/null" : options_.output_file.c_str(),
                        options_.error_file.empty() ? nullptr : options_.error_file.c_str(),
                        getpid(),
                        report[1]};
    pid_ = launch_child(launch);
    if (pid_ < 0) failure_.error = errno;
    close(report[1]);
    if (pid_ > 0 && read(report[0], &failure_, sizeof failure_) != sizeof failure_) failure_.error = 0;
    close(report[0]);
    if (pid_ > 0 && failure_.error) {
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
}

base::Result<std::unique_ptr<Child>> Start::take() {
    if (failure_.error) {
        std::string what = fmt::format("starting {}", options_.arguments[0]);
        const std::string& file =
            failure_.target == 2 && !options_.error_file.empty() ? options_.error_file : options_.output_file;
        if (failure_.target > 0) what += fmt::format(": its output {}", file);
        return base::fail_errno(std::move(what), failure_.error);
    }
    auto child = std::make_unique<Child>(std::exchange(pid_, -1));
    TRY(child->watch_end());
    return child;
}

class ChildProcess final : public Process {
  public:
    explicit ChildProcess(std::unique_ptr<Child> child) : child_(std::move(child)) {}

    ~ChildProcess() override {
        if (!child_->reap()) kill_and_forget(std::move(child_));
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

base::Result<std::unique_ptr<Process>> start_process(const ProcessOptions& options, Deadline deadline) {
    if (options.arguments.empty()) return base::fail(base::Code::kConfig, "no program to start");
    TRY(detail::check_cancelled());
    TRY(detail::start_pool(detail::starter, "starter", 1));
    detail::stop_at_shutdown(detail::Service::kProcesses, detail::stop_processes);
    const auto start = std::make_shared<detail::Start>(options);
    const auto finished = std::make_shared<Event>("a process to start");
    auto job = std::make_unique<detail::ThreadJob>();
    job->work = [start] { start->run(); };
    job->done = [finished] { finished->set(); };
    detail::starter->submit(std::move(job));
    TRY(finished->wait(deadline));
    return std::make_unique<detail::ChildProcess>(TRY(start->take()));
}

std::string find_program(const std::string& name) {
    const auto may_run = [](const std::string& path) {
        struct stat file {};
        return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
    };
    if (name.find('/') != name.npos) return may_run(name) ? name : std::string();
    const char* variable = std::getenv("PATH");
    std::string_view rest = variable ? variable : "/usr/bin:/bin";
    while (!name.empty()) {
        const size_t colon = std::min(rest.find(':'), rest.size());
        const std::string directory(rest.substr(0, colon));
        if (const std::string path = (directory.empty() ? "." : directory) + "/" + name; may_run(path)) return path;
        if (colon == rest.size()) break;
        rest.remove_prefix(colon + 1);
    }
    return {};
}

}  // namespace runtime
