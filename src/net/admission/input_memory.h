#pragma once
// InputMemory: the one account of input whose end has not come, whatever the protocol: messages, frames and requests in
// parts. A holder reports the bytes of its allocations when they may have grown; what is at most kFree is not counted,
// so that usual traffic costs a comparison. The sum is limited per address and in all. At the limit of an address its
// holder is refused; at the limit of all the address that holds most gives way. A part that stays unfinished for
// kMaxUnfinishedMs is dropped. Of an IPv6 address only the first 64 bits count. Times are passed in, in ms.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ip.h"
#include "base/result.h"

namespace net {

class InputHolder {
  public:
    // Bytes of allocations for input whose end has not come.
    virtual size_t unfinished_input() const { return 0; }
    // Appends a number for each of its parts, which stays the same until that part is finished.
    virtual void list_unfinished_input(std::vector<uint64_t>&) const {}
    // Releases it, or ends soon. Must not yield, nor destroy the holder.
    virtual void drop_unfinished_input(std::string_view why) = 0;

  protected:
    ~InputHolder() = default;
};

class InputMemory {
  public:
    // Bytes that each holder may have uncounted: as much as the stack of its coroutine.
    static constexpr size_t kFree = 64 * 1024;
    static constexpr int64_t kMaxUnfinishedMs = 30'000;

    struct Limits {
        size_t of_address = 0;  // bytes; 0, here and below: no limit
        size_t in_all = 0;
        std::vector<base::IpNetwork> exempt{};  // from the limit per address
    };
    struct Counters {
        uint64_t refused = 0;    // holders at the limit of their address, or whose address held most
        uint64_t displaced = 0;  // holders that gave way to others
        uint64_t stale = 0;      // drops of what stayed unfinished
    };

    InputMemory() = default;
    InputMemory(const InputMemory&) = delete;
    void set_limits(Limits limits) { limits_ = std::move(limits); }
    const Limits& limits() const { return limits_; }

    // The holder has that many bytes now; it must call forget() before its end. kLimit: it is to end now, and is not
    // counted any longer.
    base::Result<void> update(InputHolder& holder, const base::IpAddress& ip, size_t bytes);
    void forget(InputHolder& holder);
    // To be called about once a second: asks each counted holder again, and has what is stale dropped.
    void check(int64_t now_ms);

    size_t bytes() const { return bytes_; }
    size_t holders() const { return holders_.size(); }
    const Counters& counters() const { return counters_; }

  private:
    struct Part {
        uint64_t number;
        int64_t since_ms;
    };
    struct Entry {
        base::IpAddress key{};
        size_t bytes = 0;
        std::vector<Part> parts{};  // at the last check
    };
    using Holders = std::unordered_map<InputHolder*, Entry>;
    using Addresses = std::map<base::IpAddress, size_t>;  // a tree: an attacker cannot choose colliding addresses

    bool is_exempt(const base::IpAddress& ip) const;
    void set_bytes(Entry& entry, size_t bytes);
    void erase(Holders::iterator at);
    // Has holders of other addresses give way for the new bytes of that one. False: it holds most itself.
    bool make_room(const base::IpAddress& key, size_t more);
    static bool has_stale_part(const InputHolder& holder, Entry& entry, int64_t now_ms);

    Limits limits_;
    Holders holders_;
    Addresses of_;
    size_t bytes_ = 0;
    Counters counters_;
};

}  // namespace net
