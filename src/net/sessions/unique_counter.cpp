#include "net/sessions/unique_counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace net {

namespace {

constexpr int kIndexBits = 10;
static_assert(UniqueCounter::kRegisters == size_t{1} << kIndexBits);
// Of the 54 bits behind the index the position of the first that is set.
constexpr uint8_t kMaxRank = 64 - kIndexBits + 1;

}  // namespace

bool UniqueCounter::add(uint64_t hash) {
    if (!registers_.empty()) return add_to_registers(hash);
    const auto at = std::ranges::lower_bound(hashes_, hash);
    if (at != hashes_.end() && *at == hash) return false;
    hashes_.insert(at, hash);
    if (hashes_.size() > kExact) make_registers();
    return true;
}

void UniqueCounter::make_registers() {
    registers_.assign(kRegisters, 0);
    for (const uint64_t hash : hashes_) add_to_registers(hash);
    std::vector<uint64_t>().swap(hashes_);
}

bool UniqueCounter::add_to_registers(uint64_t hash) {
    const size_t index = hash >> (64 - kIndexBits);
    const auto rank = static_cast<uint8_t>(std::countl_zero(hash << kIndexBits | uint64_t{1} << (kIndexBits - 1)) + 1);
    if (registers_[index] >= rank) return false;
    registers_[index] = rank;
    return true;
}

void UniqueCounter::join(const UniqueCounter& other) {
    for (const uint64_t hash : other.hashes_) add(hash);
    if (other.registers_.empty()) return;
    if (registers_.empty()) make_registers();
    for (size_t i = 0; i < kRegisters; ++i) registers_[i] = std::max(registers_[i], other.registers_[i]);
}

// Flajolet and others, 2007: the raw estimate, and linear counting while many registers are empty.
uint64_t UniqueCounter::count() const {
    if (registers_.empty()) return hashes_.size();
    constexpr auto kCount = static_cast<double>(kRegisters);
    constexpr double kAlpha = 0.7213 / (1 + 1.079 / kCount);
    std::array<size_t, kMaxRank + 1> of_rank{};
    for (const uint8_t rank : registers_) ++of_rank[rank];
    double sum = 0;
    for (int rank = 0; rank <= kMaxRank; ++rank)
        sum += std::ldexp(static_cast<double>(of_rank[static_cast<size_t>(rank)]), -rank);
    const size_t empty = of_rank[0];
    const double raw = kAlpha * kCount * kCount / sum;
    const bool is_linear = raw <= 2.5 * kCount && empty > 0;
    return static_cast<uint64_t>(
        std::llround(is_linear ? kCount * std::log(kCount / static_cast<double>(empty)) : raw));
}

std::string UniqueCounter::text() const {
    std::string text;
    if (!registers_.empty()) {
        text = "r";
        for (const uint8_t rank : registers_) text += fmt::format("{:02x}", rank);
    } else if (!hashes_.empty()) {
        text = "h";
        for (const uint64_t hash : hashes_) text += fmt::format("{:016x}", hash);
    }
    return text;
}

std::optional<UniqueCounter> UniqueCounter::parse(std::string_view text) {
    UniqueCounter counter;
    if (text.empty()) return counter;
    const char kind = text.front();
    text.remove_prefix(1);
    const size_t width = kind == 'r' ? 2 : 16;
    const size_t count = text.size() / width;
    if ((kind != 'r' && kind != 'h') || text.size() % width != 0) return std::nullopt;
    if (kind == 'r' ? count != kRegisters : count == 0 || count > kExact) return std::nullopt;
    if (kind == 'r') counter.registers_.reserve(kRegisters);
    for (size_t i = 0; i < count; ++i) {
        uint64_t value = 0;
        const char* const begin = text.data() + i * width;
        const auto [end, error] = std::from_chars(begin, begin + width, value, 16);
        if (error != std::errc() || end != begin + width) return std::nullopt;
        if (kind == 'h') {
            counter.add(value);
        } else if (value > kMaxRank) {
            return std::nullopt;
        } else {
            counter.registers_.push_back(static_cast<uint8_t>(value));
        }
    }
    return counter;
}

}  // namespace net
