#include "runtime/loop/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "runtime/loop/reactor.h"
#include "runtime/loop/sync.h"

namespace runtime {
namespace {

class SignalWatch final : public Signals {
  public:
    ~SignalWatch() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    base::Result<void> open(std::initializer_list<int> signals) {
        sigset_t set;
        sigemptyset(&set);
        for (int signal : signals) sigaddset(&set, signal);
        pthread_sigmask(SIG_BLOCK, &set, &before_);
        const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
        if (fd < 0) return base::fail_errno("signalfd", errno);
        return watch_.open(fd);
    }

    base::Result<int> next(Deadline deadline) override {
        TRY(detail::check_cancelled());
        while (true) {
            TRY(watch_.wait_readable(deadline));
            signalfd_siginfo info;
            const ssize_t n = ::read(watch_.fd(), &info, sizeof info);
            if (n == sizeof info) {
                sender_ = {static_cast<int>(info.ssi_pid), static_cast<int>(info.ssi_uid)};
                return static_cast<int>(info.ssi_signo);
            }
            if (n < 0 && errno != EAGAIN && errno != EINTR) return base::fail_errno("reading signals", errno);
            watch_.read_would_block();
        }
    }

    Sender sender() const override { return sender_; }

  private:
    Sender sender_;
    detail::Watch watch_;
    sigset_t before_{};
};

}  // namespace

base::Result<std::unique_ptr<Signals>> watch_signals(std::initializer_list<int> signals) {
    auto watch = std::make_unique<SignalWatch>();
    TRY(watch->open(signals));
    return watch;
}

}  // namespace runtime
