#pragma once
// AddressLimiter: how many connections one address has, and how fast new ones come from it (a token bucket each). Of
// IPv6 the first 64 bits are the address: whoever has one has all of them. Times are handed in, ms of a clock that does
// not go back.
//
// Its table has an address for as long as it has a connection, and then until its bucket would be full again, when it
// is as good as unknown. Of those that only wait for that, 65,536 are kept at most; the longest idle are forgotten
// first.

#include <cstdint>
#include <list>
#include <map>
#include <string_view>
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
        uint64_t too_many = 0;  // refused: connections at once
        uint64_t too_fast = 0;  // refused: rate
        uint64_t forgotten = 0;
    };

    // The connections of an address: of IPv6 the network.
    static base::IpAddress key_of(const base::IpAddress& address);
    // The connections that there are stay counted; how fast they came is forgotten.
    void set_options(Options options);
    const Options& options() const { return options_; }
    bool on() const { return options_.on(); }

    // Whether another connection may come from there; if so it has used up its share of the rate. Text that is no
    // address passes. counts_rate: false: it has used up its share before. kRefused.
    base::Result<void> admit(std::string_view ip, int64_t now_ms, bool counts_rate = true);
    void opened(const base::IpAddress& ip);
    void closed(const base::IpAddress& ip, int64_t now_ms);

    size_t addresses() const { return entries_.size(); }
    const Counters& counters() const { return counters_; }

  private:
    struct Entry {
        uint32_t connections = 0;
        double tokens = 0;
        int64_t filled_ms = 0;  // when tokens was right
        std::list<base::IpAddress>::iterator idle{};
        bool is_idle = false;
    };
    using Entries = std::map<base::IpAddress, Entry>;  // a tree: nobody can choose addresses that collide

    // False: no limit is for it.
    bool limits(std::string_view ip, base::IpAddress& key) const;
    base::Result<void> admit_rate(const base::IpAddress& key, int64_t now_ms);
    Entry& entry(const base::IpAddress& key);
    void set_idle(const base::IpAddress& key, Entry& entry);
    void set_busy(Entry& entry);
    void refill(Entry& entry, int64_t now_ms) const;
    void forget(int64_t now_ms);

    Options options_;
    Entries entries_;
    std::list<base::IpAddress> idle_;  // without a connection, the longest so first
    Counters counters_;
};

}  // namespace net
