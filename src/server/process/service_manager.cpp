#include "server/process/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace server {
namespace {

constexpr const char* kNotifySocket = "NOTIFY_SOCKET";
constexpr const char* kWatchdogUsec = "WATCHDOG_USEC";
constexpr const char* kWatchdogPid = "WATCHDOG_PID";

std::string sentence(std::string_view text) {
    std::string out(text);
    std::ranges::replace_if(
        out, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return out;
}

base::Result<std::string> address_of(std::string_view path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() < 2 || (path[0] != '/' && path[0] != '@'))
        return base::fail(base::Code::kConfig, fmt::format("{} is no Unix socket: {}", kNotifySocket, path));
    if (path.size() >= sizeof address.sun_path)
        return base::fail(base::Code::kConfig, fmt::format("{} is too long: {}", kNotifySocket, path));
    std::memcpy(address.sun_path, path.data(), path.size());
    size_t size = offsetof(sockaddr_un, sun_path) + path.size();
    // An abstract name ends with its last byte, a path with a zero.
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    else
        ++size;
    return std::string(reinterpret_cast<const char*>(&address), size);
}

base::Result<int64_t> number(const char* name, std::string_view text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value <= 0)
        return base::fail(base::Code::kConfig, fmt::format("{} is not a positive number: {}", name, text));
    return value;
}

// The variable is set without WATCHDOG_PID, or for this process.
base::Result<int64_t> watchdog_of(const ServiceManager::Environment& environment) {
    if (!environment.watchdog_usec) return 0;
    if (environment.watchdog_pid) {
        const int64_t pid = TRY(number(kWatchdogPid, environment.watchdog_pid));
        if (pid != getpid()) return 0;
    }
    return number(kWatchdogUsec, environment.watchdog_usec);
}

}  // namespace

ServiceManager::Environment ServiceManager::take_environment() {
    // The strings stay valid: unsetenv() removes the pointers to them.
    const Environment environment{std::getenv(kNotifySocket), std::getenv(kWatchdogUsec), std::getenv(kWatchdogPid)};
    for (const char* name : {kNotifySocket, kWatchdogUsec, kWatchdogPid}) unsetenv(name);
    return environment;
}

std::vector<std::string> ServiceManager::Environment::for_successor() const {
    std::vector<std::string> variables;
    if (notify_socket) variables.push_back(fmt::format("{}={}", kNotifySocket, notify_socket));
    if (watchdog_usec) variables.push_back(fmt::format("{}={}", kWatchdogUsec, watchdog_usec));
    return variables;
}

ServiceManager::~ServiceManager() {
    stop();
    if (socket_ >= 0) ::close(socket_);
}

base::Result<void> ServiceManager::start(const Environment& environment) {
    if (!environment.notify_socket || !*environment.notify_socket) return {};
    address_ = TRY(address_of(environment.notify_socket));
    watchdog_us_ = TRY(watchdog_of(environment));
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_ < 0) return base::fail_errno("the socket of the service manager", errno);
    task_ = runtime::spawn("service-manager", [this] { run(); });
    return {};
}

void ServiceManager::stop() {
    if (task_) std::exchange(task_, {}).cancel_and_join();
}

void ServiceManager::run() {
    constexpr int64_t kRetryMs = 1000;
    // Twice per period, so that one late message does not end the process.
    const int64_t watchdog_ms = std::max<int64_t>(watchdog_us_ / 2000, 1);
    int64_t next_ms = base::monotonic_ms();
    while (true) {
        send_waiting();
        int64_t wait_ms = kRetryMs;
        if (watchdog_us_ > 0) {
            const int64_t now_ms = base::monotonic_ms();
            if (now_ms >= next_ms) {
                if (!is_replaced_) static_cast<void>(try_to_send("WATCHDOG=1"));
                next_ms = now_ms + watchdog_ms;
            }
            wait_ms = std::min(kRetryMs, next_ms - now_ms);
        }
        if (!runtime::sleep_ms(wait_ms)) return;
    }
}

// False: there is no room for it now. Another error is logged once, and the message is given up.
bool ServiceManager::try_to_send(const std::string& message) {
    const auto* address = reinterpret_cast<const sockaddr*>(address_.data());
    if (::sendto(socket_, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT, address,
                 static_cast<socklen_t>(address_.size())) >= 0)
        return true;
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) return false;
    if (!std::exchange(failed_, true))
        base::log::warn("the service manager cannot be notified: {}", std::strerror(errno));
    return true;
}

void ServiceManager::send_waiting() {
    while (!waiting_.empty() && try_to_send(waiting_.front())) waiting_.pop_front();
}

void ServiceManager::send(std::string message) {
    if (socket_ < 0 || is_replaced_) return;
    waiting_.push_back(std::move(message));
    send_waiting();
    while (waiting_.size() > kMaxWaiting) {
        waiting_.pop_front();
        ++dropped_;
    }
}

void ServiceManager::ready(std::string_view status) { send(fmt::format("READY=1\nSTATUS={}", sentence(status))); }

void ServiceManager::status(std::string_view status) { send(fmt::format("STATUS={}", sentence(status))); }

// The watchdog's messages count if they come from the main process, which the other one is from here on.
void ServiceManager::replaced_by(int64_t pid, std::string_view status) {
    send(fmt::format("MAINPID={}\nSTATUS={}", pid, sentence(status)));
    is_replaced_ = true;
}

void ServiceManager::taken_back(std::string_view status) {
    if (!std::exchange(is_replaced_, false) || socket_ < 0) return;
    send(fmt::format("MAINPID={}\nREADY=1\nSTATUS={}", getpid(), sentence(status)));
}

// The time tells a service manager that this is the answer to the reload that it asked for, and not to an earlier one.
void ServiceManager::reloading() {
    send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=Reloading the configuration", base::monotonic_us()));
}

void ServiceManager::stopping(std::string_view status, int64_t extend_ms) {
    const std::string extension = extend_ms > 0 ? fmt::format("\nEXTEND_TIMEOUT_USEC={}", extend_ms * 1000) : "";
    send(fmt::format("STOPPING=1{}\nSTATUS={}", extension, sentence(status)));
}

}  // namespace server
