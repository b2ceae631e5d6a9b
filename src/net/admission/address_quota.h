#pragma once
// AddressQuota: limits how many objects of one kind other than connections the clients of one address, and all clients,
// may make the server keep, and their memory in bytes. The service that keeps the objects owns it. Of an IPv6 address
// only the first 64 bits count. A Share is held for the object's lifetime.

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/result.h"

namespace prometheus {
class Text;
}

namespace net {

class AddressQuota {
  public:
    struct Limits {
        size_t of_address = 0;  // 0, here and below: no limit
        size_t in_all = 0;
        size_t bytes_of_address = 0;
        size_t bytes_in_all = 0;
        std::vector<base::IpNetwork> exempt{};  // from the limits per address
    };
    struct Counters {
        uint64_t refused_address = 0;
        uint64_t refused_all = 0;
    };

    // The part of the quota that one object uses, until its destruction. The quota must outlive it.
    class Share {
      public:
        Share() = default;
        Share(Share&& other) noexcept
            : quota_(std::exchange(other.quota_, nullptr)), key_(other.key_), bytes_(other.bytes_) {}
        Share& operator=(Share&& other) noexcept {
            std::swap(quota_, other.quota_);
            std::swap(key_, other.key_);
            std::swap(bytes_, other.bytes_);
            return *this;
        }
        ~Share() { release(); }
        void release() {
            if (AddressQuota* quota = std::exchange(quota_, nullptr)) quota->give_back(key_, bytes_);
        }
        explicit operator bool() const { return quota_ != nullptr; }

      private:
        friend class AddressQuota;
        Share(AddressQuota& quota, const base::IpAddress& key, size_t bytes)
            : quota_(&quota), key_(key), bytes_(bytes) {}
        AddressQuota* quota_ = nullptr;
        base::IpAddress key_;
        size_t bytes_ = 0;
    };

    // what: in the plural; of_address, in_all: names of the directives. For error texts; the strings must never be
    // freed.
    AddressQuota(std::string_view what, std::string_view of_address, std::string_view in_all)
        : what_(what), of_address_(of_address), in_all_(in_all) {}
    AddressQuota(const AddressQuota&) = delete;

    // Existing shares are kept.
    void set_limits(Limits limits) { limits_ = std::move(limits); }
    const Limits& limits() const { return limits_; }
    // kLimit. Text that is not an address is subject only to the limits for all.
    base::Result<Share> take(std::string_view ip, size_t bytes);

    size_t count() const { return all_.count; }
    size_t bytes() const { return all_.bytes; }
    size_t addresses() const { return of_.size(); }
    const Counters& counters() const { return counters_; }

  private:
    struct Use {
        size_t count = 0;
        size_t bytes = 0;
    };
    static bool is_above(size_t value, size_t limit) { return limit > 0 && value > limit; }
    bool is_exempt(const base::IpAddress& address) const;
    void give_back(const base::IpAddress& key, size_t bytes);

    std::string_view what_, of_address_, in_all_;
    Limits limits_;
    Use all_;
    std::map<base::IpAddress, Use> of_;  // a tree: an attacker cannot choose colliding addresses
    Counters counters_;
};

// Appends a counter of the shares that were refused, with the limit as its label: of the address, or of all.
void write_refused(prometheus::Text& text, std::string_view name, std::string_view help, const AddressQuota& quota);

}  // namespace net
