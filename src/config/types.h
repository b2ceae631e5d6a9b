#pragma once
// Common types of the configuration's parts: positions in files, problems, and the value types of directives besides
// numbers and strings. Does not know any directive.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"

namespace config {

// A position in the configuration. Line 0: not in a file (`file` contains the environment variable's name).
struct Location {
    std::string file;
    int line = 0;

    std::string text() const;  // "conf/srs.conf:12"
};

enum class Severity : uint8_t { kWarning, kError };

struct Problem {
    Severity severity;
    Location location;
    std::string text;

    std::string describe() const;  // "conf/srs.conf:12: error: unknown directive 'lisen'; did you mean 'listen'?"
};

// Problems are collected, so that the operator sees all of them at once. Bounded: after kMax only the count grows.
class Problems {
  public:
    static constexpr size_t kMax = 1000;

    void error(Location location, std::string text) { add(Severity::kError, std::move(location), std::move(text)); }
    void warning(Location location, std::string text) { add(Severity::kWarning, std::move(location), std::move(text)); }
    const std::vector<Problem>& all() const { return all_; }
    size_t errors() const { return errors_; }
    size_t warnings() const { return warnings_; }

  private:
    void add(Severity severity, Location location, std::string text);
    std::vector<Problem> all_;
    size_t errors_ = 0;
    size_t warnings_ = 0;
};

// "1935", "127.0.0.1:1935", "[::1]:1935". An empty host means every address of the machine.
struct ListenAddress {
    std::string host;
    uint16_t port = 0;
    // For [::] when another listener has the port's IPv4 addresses: IPv6 only.
    bool ipv6_only = false;
    // For TCP with reuse_port: other servers of this machine may listen on it, too.
    bool reuse_port = false;

    std::string text() const;
    // Reachable only from this machine: 127.0.0.0/8 or ::1.
    bool is_loopback() const;
    friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};
using ListenAddresses = std::vector<ListenAddress>;

// "allow play 10.0.0.0/8": the clients that a rule applies to. "all" is the network of all addresses.
struct AccessRule {
    bool publish = false;  // otherwise play
    base::IpNetwork network;

    friend bool operator==(const AccessRule&, const AccessRule&) = default;
};
using AccessRules = std::vector<AccessRule>;
using IpNetworks = std::vector<base::IpNetwork>;
// Each is a program and its arguments.
using Commands = std::vector<std::vector<std::string>>;

enum class LogTank : uint8_t { kFile, kConsole };

// full: the timeline starts at 0 and is monotonic; zero: it starts at 0; off: timestamps are unchanged.
enum class TimeJitter : uint8_t { kFull, kZero, kOff };

// on: a second publisher of a stream waits and takes over when the first one ends; preempt: one of a higher priority
// takes over as soon as it sends.
enum class StandbyMode : uint8_t { kOff, kOn, kPreempt };

}  // namespace config
