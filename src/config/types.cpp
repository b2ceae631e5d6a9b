#include "config/types.h"

#include <fmt/format.h>

namespace config {

std::string Location::text() const { return line == 0 ? file : fmt::format("{}:{}", file, line); }

std::string Problem::describe() const {
    const char* word = severity == Severity::kError ? "error" : "warning";
    return fmt::format("{}: {}: {}", location.text(), word, text);
}

void Problems::add(Severity severity, Location location, std::string text) {
    ++(severity == Severity::kError ? errors_ : warnings_);
    if (all_.size() < kMax) all_.push_back({severity, std::move(location), std::move(text)});
}

std::string ListenAddress::text() const {
    if (host.empty()) return std::to_string(port);
    if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
    return fmt::format("{}:{}", host, port);
}

// Addresses are numeric: see parse_listen_address.
bool ListenAddress::is_loopback() const { return host.starts_with("127.") || host == "::1"; }

}  // namespace config
