#pragma once
// AddressLimiter: limits the connections of one address, and the rate of new ones from it (a token bucket each). Of an
// IPv6 address only the first 64 bits count, because a client usually has the whole /64. Times are passed in, in ms of
// a monotonic clock.
//
// An address stays in the table while it has a connection, and then until its bucket is full again, when its entry
// carries no information. At most 65,536 idle entries are kept; the longest idle are dropped first.

#include <cstdint>
#include <list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/result.h"

namespace net {

class AddressLimiter {
  public:
    static constexpr size_t kMaxIdle = 65'536;

    struct Options {
        uint32_t connections = 0;  // at once; 0: any number
        double rate = 0;           // new ones a second; 0: any number
        uint32_t burst = 1;
        std::vector<base::IpNetwork> exempt{};
        bool on() const { return connections > 0 || rate > 0; }
        friend bool operator==(const Options&, const Options&) = default;
    };
    struct Counters {
        uint64_t too_many = 0;  // refused: too many connections at once
        uint64_t too_fast = 0;  // refused: rate exceeded
        uint64_t forgotten = 0;
    };

    // The table key of an address: for IPv6 the /64 network.
    static base::IpAddress key_of(const base::IpAddress& address);
    // Existing connections stay counted; the rate state is reset.
    void set_options(Options options);
    const Options& options() const { return options_; }
    bool on() const { return options_.on(); }

    // Whether another connection from this address is allowed; if so, it takes a token. Text that is not an address is
    // allowed. counts_rate: false: the token was taken before. kRefused.
    base::Result<void> admit(std::string_view ip, int64_t now_ms, bool counts_rate = true);
    void opened(const base::IpAddress& ip);
    void closed(const base::IpAddress& ip, int64_t now_ms);

    // The connections of each address, at most so many, those with the most first.
    using Counts = std::vector<std::pair<base::IpAddress, uint32_t>>;
    Counts busiest(size_t max) const;
    // Connections that count for the limit, but are those of the server's other process, during an upgrade.
    void set_elsewhere(const Counts& counts) { elsewhere_ = {counts.begin(), counts.end()}; }

    size_t addresses() const { return entries_.size(); }
    const Counters& counters() const { return counters_; }

  private:
    struct Entry {
        uint32_t connections = 0;
        double tokens = 0;
        int64_t filled_ms = 0;  // when tokens was computed
        std::list<base::IpAddress>::iterator idle{};
        bool is_idle = false;
    };
    using Entries = std::map<base::IpAddress, Entry>;  // a tree: an attacker cannot choose colliding addresses

    // False: no limit applies to it.
    bool limits(std::string_view ip, base::IpAddress& key) const;
    uint64_t connections_of(const base::IpAddress& key) const;
    base::Result<void> admit_rate(const base::IpAddress& key, int64_t now_ms);
    Entry& entry(const base::IpAddress& key);
    void set_idle(const base::IpAddress& key, Entry& entry);
    void set_busy(Entry& entry);
    void refill(Entry& entry, int64_t now_ms) const;
    void forget(int64_t now_ms);

    Options options_;
    Entries entries_;
    std::map<base::IpAddress, uint32_t> elsewhere_;
    std::list<base::IpAddress> idle_;  // without a connection, the longest idle first
    Counters counters_;
};

}  // namespace net
