#pragma once
// UnservedSessions: players that get nothing: of streams that are not published, and paused ones. They hold a place
// without any use of it, so their number is limited, per address and in all, and so is their time. Beyond a limit the
// one that has waited longest gives way, of its own address or of the one that has most. Times are passed in, in ms.

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ip.h"

namespace net {

class Session;

class UnservedSessions {
  public:
    struct Limits {
        size_t of_address = 0;  // 0, here and below: no limit
        size_t in_all = 0;
        int64_t time_ms = 0;
        std::vector<base::IpNetwork> exempt{};  // from the limit per address
    };

    UnservedSessions() = default;
    UnservedSessions(const UnservedSessions&) = delete;
    void set_limits(Limits limits) { limits_ = std::move(limits); }

    // The session gets nothing from now on. Others, or this one, are closed where there are too many.
    void add(Session& session, const base::IpAddress& ip, int64_t now_ms);
    // Before the session's end; nothing happens if it is not here.
    void remove(Session& session);
    // Whether one has been here for least_ms.
    bool has(int64_t now_ms, int64_t least_ms) const;
    // Closes the one that has been here longest, of the address that has most. It does not count as a connection any
    // longer. False: none has been here for least_ms.
    bool evict_one(int64_t now_ms, int64_t least_ms);
    // To be called about once a second: leaves out those that are served again, and closes those whose time is over.
    void check(int64_t now_ms);

    size_t size() const { return entries_.size(); }
    uint64_t ended_total() const { return ended_total_; }

  private:
    struct Entry {
        Session* session;
        base::IpAddress key;
        int64_t since_ms;
    };
    using Entries = std::list<Entry>;  // in order of since_ms

    bool is_exempt(const base::IpAddress& ip) const;
    void erase(Entries::iterator at);
    void end(Entries::iterator at, std::string_view why);
    Entries::iterator longest_of(const base::IpAddress& key);
    base::IpAddress address_with_most() const;
    void drop_served();

    Limits limits_;
    Entries entries_;
    std::unordered_map<const Session*, Entries::iterator> by_session_;
    std::map<base::IpAddress, size_t> of_;  // a tree: an attacker cannot choose colliding addresses
    uint64_t ended_total_ = 0;
};

}  // namespace net
