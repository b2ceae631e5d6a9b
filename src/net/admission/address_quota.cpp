#include "net/admission/address_quota.h"

#include <fmt/core.h>

#include <algorithm>

#include "net/admission/address_limiter.h"
#include "protocol/prometheus/text.h"

namespace net {

bool AddressQuota::is_exempt(const base::IpAddress& address) const {
    return std::ranges::any_of(limits_.exempt,
                               [&](const base::IpNetwork& network) { return network.contains(address); });
}

base::Result<AddressQuota::Share> AddressQuota::take(std::string_view ip, size_t bytes) {
    if (is_above(all_.count + 1, limits_.in_all) || is_above(all_.bytes + bytes, limits_.bytes_in_all)) {
        ++counters_.refused_all;
        return base::fail(base::Code::kLimit, fmt::format("{} {} with {} kB of memory are here, the limit ({})",
                                                          all_.count, what_, all_.bytes / 1024, in_all_));
    }
    // Text that is not an address shares one entry, all zeros, without limits.
    const auto address = base::IpAddress::parse(ip);
    const base::IpAddress key = address ? AddressLimiter::key_of(*address) : base::IpAddress();
    auto found = of_.find(key);
    const Use now = found == of_.end() ? Use() : found->second;
    if (address && !is_exempt(*address) &&
        (is_above(now.count + 1, limits_.of_address) || is_above(now.bytes + bytes, limits_.bytes_of_address))) {
        ++counters_.refused_address;
        return base::fail(base::Code::kLimit,
                          fmt::format("{} {} with {} kB of memory are from this address, the limit ({})", now.count,
                                      what_, now.bytes / 1024, of_address_));
    }
    Use& use = of_[key];
    ++use.count;
    use.bytes += bytes;
    ++all_.count;
    all_.bytes += bytes;
    return Share(*this, key, bytes);
}

void AddressQuota::give_back(const base::IpAddress& key, size_t bytes) {
    auto found = of_.find(key);
    CHECK(found != of_.end());
    --all_.count;
    all_.bytes -= bytes;
    found->second.bytes -= bytes;
    if (--found->second.count == 0) of_.erase(found);
}

void write_refused(prometheus::Text& text, std::string_view name, std::string_view help, const AddressQuota& quota) {
    text.family(name, prometheus::Type::kCounter, help);
    text.sample({{"limit", "address"}}, static_cast<double>(quota.counters().refused_address));
    text.sample({{"limit", "all"}}, static_cast<double>(quota.counters().refused_all));
}

}  // namespace net
