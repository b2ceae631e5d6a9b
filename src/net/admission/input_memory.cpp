#include "net/admission/input_memory.h"

#include <fmt/core.h>

#include <algorithm>

#include "net/admission/address_limiter.h"

namespace net {

using base::IpAddress;
using base::Result;

bool InputMemory::is_exempt(const IpAddress& ip) const {
    return std::ranges::any_of(limits_.exempt, [&](const base::IpNetwork& network) { return network.contains(ip); });
}

void InputMemory::set_bytes(Entry& entry, size_t bytes) {
    of_[entry.key] += bytes - entry.bytes;
    bytes_ += bytes - entry.bytes;
    entry.bytes = bytes;
}

void InputMemory::erase(Holders::iterator at) {
    set_bytes(at->second, 0);
    if (auto of = of_.find(at->second.key); of->second == 0) of_.erase(of);
    holders_.erase(at);
}

void InputMemory::forget(InputHolder& holder) {
    if (auto found = holders_.find(&holder); found != holders_.end()) erase(found);
}

Result<void> InputMemory::update(InputHolder& holder, const IpAddress& ip, size_t bytes) {
    if (bytes <= kFree) {
        forget(holder);
        return {};
    }
    const IpAddress key = AddressLimiter::key_of(ip);
    Entry& entry = holders_.try_emplace(&holder, Entry{.key = key}).first->second;
    const size_t more = bytes - std::min(bytes, entry.bytes);
    if (more == 0) {
        set_bytes(entry, bytes);
        return {};
    }
    const auto of = of_.find(key);
    const size_t before = of == of_.end() ? 0 : of->second;
    const bool address_is_full = limits_.of_address > 0 && before + more > limits_.of_address && !is_exempt(ip);
    if (!address_is_full && make_room(key, more)) {
        set_bytes(entry, bytes);
        return {};
    }
    // Text is made before the entry goes, with what its address holds beside it.
    const size_t held = (before + more) >> 10, all = (bytes_ + more) >> 10;
    ++counters_.refused;
    set_bytes(entry, entry.bytes);  // its address is in the table
    forget(holder);
    return base::fail(
        base::Code::kLimit,
        address_is_full ? fmt::format("unfinished input of {} kB from this address (address_limits.input_memory)", held)
                        : fmt::format("unfinished input of {} kB in all, {} kB of it from this address", all, held));
}

bool InputMemory::make_room(const IpAddress& key, size_t more) {
    const auto bytes_of = [](const auto& one) { return one.second; };
    while (limits_.in_all > 0 && bytes_ + more > limits_.in_all) {
        const auto most = std::ranges::max_element(of_, {}, bytes_of);
        const auto own = of_.find(key);
        const size_t held = own == of_.end() ? 0 : own->second;
        if (most == of_.end() || most == own || most->second <= held + more) return false;
        auto largest = holders_.end();
        for (auto it = holders_.begin(); it != holders_.end(); ++it)
            if (it->second.key == most->first &&
                (largest == holders_.end() || it->second.bytes > largest->second.bytes))
                largest = it;
        InputHolder& displaced = *largest->first;
        erase(largest);
        ++counters_.displaced;
        displaced.drop_unfinished_input("its address holds the most unfinished input, and others need the memory");
    }
    return true;
}

// Brings the entry's parts up to date.
bool InputMemory::has_stale_part(const InputHolder& holder, Entry& entry, int64_t now_ms) {
    std::vector<uint64_t> numbers;
    holder.list_unfinished_input(numbers);
    std::vector<Part> parts;
    bool stale = false;
    for (const uint64_t number : numbers) {
        const auto known = std::ranges::find(entry.parts, number, &Part::number);
        parts.push_back({number, known == entry.parts.end() ? now_ms : known->since_ms});
        stale |= now_ms - parts.back().since_ms >= kMaxUnfinishedMs;
    }
    entry.parts = std::move(parts);
    return stale;
}

void InputMemory::check(int64_t now_ms) {
    std::vector<InputHolder*> stale;
    for (auto it = holders_.begin(); it != holders_.end();) {
        const auto at = it++;
        const size_t bytes = at->first->unfinished_input();
        if (bytes <= kFree) {
            erase(at);
            continue;
        }
        set_bytes(at->second, bytes);
        if (has_stale_part(*at->first, at->second, now_ms)) stale.push_back(at->first);
    }
    for (InputHolder* holder : stale) {
        ++counters_.stale;
        forget(*holder);
        holder->drop_unfinished_input(fmt::format("input has stayed unfinished for {} s", kMaxUnfinishedMs / 1000));
    }
}

}  // namespace net
