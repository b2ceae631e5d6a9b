#pragma once
// UniqueCounter: how many different things were added, in little memory: exact up to kExact of them, then estimated
// (HyperLogLog, 1,024 registers: a standard error of 3.3 %). Two counters can be joined. Pure; the hashes, 64 bits that
// are uniform and that clients cannot choose, are handed in.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace net {

class UniqueCounter {
  public:
    static constexpr size_t kExact = 64;
    static constexpr size_t kRegisters = 1024;

    // True: it was new, as far as that is known: what is stored has changed.
    bool add(uint64_t hash);
    void join(const UniqueCounter& other);
    uint64_t count() const;
    // Bytes of allocations.
    size_t memory() const { return hashes_.capacity() * sizeof(uint64_t) + registers_.capacity(); }

    // For files: hexadecimal digits, after 'h' the hashes, after 'r' the registers; "" if nothing was added.
    std::string text() const;
    // Nothing: it is no such text.
    static std::optional<UniqueCounter> parse(std::string_view text);

  private:
    bool add_to_registers(uint64_t hash);
    void make_registers();

    std::vector<uint64_t> hashes_;    // sorted, while they are few
    std::vector<uint8_t> registers_;  // then
};

}  // namespace net
