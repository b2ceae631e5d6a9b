#include "net/admission/address_limiter.h"

#include <fmt/core.h>

#include <algorithm>

namespace net {

using base::IpAddress;

IpAddress AddressLimiter::key_of(const IpAddress& address) {
    return address.is_v4() ? address : base::IpNetwork(address, 64).address();
}

void AddressLimiter::set_options(Options options) {
    if (options == options_) return;
    options_ = std::move(options);
    options_.burst = std::max(options_.burst, 1u);
    idle_.clear();
    std::erase_if(entries_, [](const auto& one) { return one.second.connections == 0; });
    for (auto& [key, entry] : entries_) entry = {entry.connections, static_cast<double>(options_.burst)};
}

bool AddressLimiter::limits(std::string_view ip, IpAddress& key) const {
    if (!on()) return false;
    auto address = IpAddress::parse(ip);
    if (!address) return false;
    for (const base::IpNetwork& network : options_.exempt)
        if (network.contains(*address)) return false;
    key = key_of(*address);
    return true;
}

// A new entry has a full bucket.
AddressLimiter::Entry& AddressLimiter::entry(const IpAddress& key) {
    auto [it, is_new] = entries_.try_emplace(key);
    if (is_new) it->second.tokens = options_.burst;
    return it->second;
}

void AddressLimiter::set_idle(const IpAddress& key, Entry& entry) {
    entry.idle = idle_.insert(idle_.end(), key);
    entry.is_idle = true;
}

void AddressLimiter::set_busy(Entry& entry) {
    if (entry.is_idle) idle_.erase(entry.idle);
    entry.is_idle = false;
}

void AddressLimiter::refill(Entry& entry, int64_t now_ms) const {
    const double seconds = static_cast<double>(std::max<int64_t>(0, now_ms - entry.filled_ms)) / 1000;
    entry.tokens = std::min<double>(options_.burst, entry.tokens + seconds * options_.rate);
    entry.filled_ms = std::max(entry.filled_ms, now_ms);
}

// The longest idle entry usually has the fullest bucket; exceptions are dropped a little later.
void AddressLimiter::forget(int64_t now_ms) {
    while (!idle_.empty()) {
        auto it = entries_.find(idle_.front());
        refill(it->second, now_ms);
        const bool is_full = options_.rate <= 0 || it->second.tokens >= options_.burst;
        if (!is_full && idle_.size() <= kMaxIdle) return;
        if (!is_full) ++counters_.forgotten;
        idle_.pop_front();
        entries_.erase(it);
    }
}

uint64_t AddressLimiter::connections_of(const IpAddress& key) const {
    const auto here = entries_.find(key);
    const auto elsewhere = elsewhere_.find(key);
    return uint64_t{here == entries_.end() ? 0 : here->second.connections} +
           (elsewhere == elsewhere_.end() ? 0 : elsewhere->second);
}

AddressLimiter::Counts AddressLimiter::busiest(size_t max) const {
    Counts counts;
    for (const auto& [address, entry] : entries_)
        if (entry.connections > 0) counts.emplace_back(address, entry.connections);
    const auto end = counts.begin() + static_cast<ptrdiff_t>(std::min(max, counts.size()));
    std::ranges::partial_sort(counts, end, std::ranges::greater(), &Counts::value_type::second);
    counts.erase(end, counts.end());
    return counts;
}

base::Result<void> AddressLimiter::admit(std::string_view ip, int64_t now_ms, bool counts_rate) {
    IpAddress key;
    if (!limits(ip, key)) return {};
    forget(now_ms);
    const uint64_t connections = connections_of(key);
    if (options_.connections > 0 && connections >= options_.connections) {
        ++counters_.too_many;
        return base::fail(
            base::Code::kRefused,
            fmt::format("{} connections from this address, the limit of address_limits.connections", connections));
    }
    if (options_.rate <= 0 || !counts_rate) return {};
    return admit_rate(key, now_ms);
}

base::Result<void> AddressLimiter::admit_rate(const IpAddress& key, int64_t now_ms) {
    Entry& entry = this->entry(key);
    refill(entry, now_ms);
    if (entry.tokens < 1) {
        ++counters_.too_fast;
        return base::fail(base::Code::kRefused,
                          fmt::format("connections come from this address faster than {} a second "
                                      "(address_limits.rate)",
                                      options_.rate));
    }
    entry.tokens -= 1;
    // The longest idle entry is first: the one just used moves to the back.
    if (entry.connections == 0) {
        set_busy(entry);
        set_idle(key, entry);
    }
    return {};
}

// Counts even if no limit is set: a reload may set one.
void AddressLimiter::opened(const IpAddress& ip) {
    Entry& entry = this->entry(key_of(ip));
    set_busy(entry);
    ++entry.connections;
}

void AddressLimiter::closed(const IpAddress& ip, int64_t now_ms) {
    auto it = entries_.find(key_of(ip));
    if (it == entries_.end() || it->second.connections == 0) return;
    if (--it->second.connections == 0) set_idle(it->first, it->second);
    forget(now_ms);
}

}  // namespace net
