#pragma once
// Reports the state of the process to the service manager that started it, systemd for example, by the protocol of
// sd_notify(3): datagrams of NAME=VALUE lines to the Unix socket that NOTIFY_SOCKET names; a name that begins with '@'
// is abstract. Without NOTIFY_SOCKET nothing is sent. Sockets of virtual machines ("vsock:...") are not supported.
//
// The watchdog (WATCHDOG_USEC) is served from the loop: a loop that stands still sends nothing, and the service manager
// restarts the process. Only for the loop's thread.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/loop/coroutine.h"

namespace server {

class ServiceManager {
  public:
    // Values of environment variables; null: not set.
    struct Environment {
        const char* notify_socket = nullptr;
        const char* watchdog_usec = nullptr;
        const char* watchdog_pid = nullptr;

        // The variables for a process that is to report in place of this one: "NAME=VALUE".
        std::vector<std::string> for_successor() const;
    };

    // Reads the process's environment and removes the variables from it, so that child processes do not report, too.
    static Environment take_environment();

    ServiceManager() = default;
    ServiceManager(const ServiceManager&) = delete;
    ~ServiceManager();  // yields

    // Opens the socket, and starts the coroutine that serves the watchdog. An error: the environment is unusable.
    base::Result<void> start(const Environment& environment);
    // Ends the watchdog's messages. Yields.
    void stop();

    // These do not yield. A message for which the socket has no room is sent later; of those that wait, the oldest
    // beyond kMaxWaiting are dropped. status: a sentence for people; control characters in it become blanks.
    void ready(std::string_view status);
    void status(std::string_view status);
    void reloading();
    // Another process is the service's from now on; until taken_back() nothing more is said, as the service manager
    // cannot tell that it is not of that one.
    void replaced_by(int64_t pid, std::string_view status);
    // That one has ended: this one is the service's again, and serves the watchdog.
    void taken_back(std::string_view status);
    // extend_ms: the end may take as long, whatever limit the service manager has; 0: within its limit.
    void stopping(std::string_view status, int64_t extend_ms);

    static constexpr size_t kMaxWaiting = 16;
    int64_t watchdog_us() const { return watchdog_us_; }  // 0: the service manager has none
    uint64_t dropped() const { return dropped_; }

  private:
    void send(std::string message);
    void send_waiting();
    bool try_to_send(const std::string& message);
    void run();

    int socket_ = -1;
    std::string address_;  // a sockaddr_un
    int64_t watchdog_us_ = 0;
    std::deque<std::string> waiting_;
    uint64_t dropped_ = 0;
    bool is_replaced_ = false;
    bool failed_ = false;  // an error was logged
    runtime::Task task_;
};

}  // namespace server
