#include "server/process/socket_activation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "runtime/socket/shared_sockets.h"

namespace server {
namespace {

constexpr const char* kListenPid = "LISTEN_PID";
constexpr const char* kListenFds = "LISTEN_FDS";
constexpr const char* kListenNames = "LISTEN_FDNAMES";

base::Result<int> number_in(const char* name, std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0)
        return base::fail(base::Code::kConfig, fmt::format("{} is no number: {}", name, text));
    return value;
}

}  // namespace

SocketActivation::Environment SocketActivation::take_environment() {
    // The strings stay valid: unsetenv() removes the pointers to them.
    const Environment environment{std::getenv(kListenPid), std::getenv(kListenFds)};
    for (const char* name : {kListenPid, kListenFds, kListenNames}) unsetenv(name);
    return environment;
}

base::Result<std::vector<int>> SocketActivation::descriptors(const Environment& environment) {
    if (!environment.listen_pid || !environment.listen_fds) return {};
    if (TRY(number_in(kListenPid, environment.listen_pid)) != getpid()) return {};
    const int count = TRY(number_in(kListenFds, environment.listen_fds));
    if (count > kMaxSockets)
        return base::fail(base::Code::kConfig, fmt::format("{} is above {}: {}", kListenFds, kMaxSockets, count));
    std::vector<int> all(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), kFirst);
    return all;
}

std::vector<std::string> take_activated_sockets() {
    const auto descriptors = SocketActivation::descriptors(SocketActivation::take_environment());
    if (!descriptors) return {descriptors.error().text()};
    std::vector<std::string> problems = runtime::inherit_sockets(*descriptors);
    for (std::string& problem : problems) problem = fmt::format("a socket of the service manager: {}", problem);
    return problems;
}

}  // namespace server
