#pragma once
// Random numbers: those that need not be secret (ids, times that are to differ), and those that are not to be guessed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace runtime {

uint64_t random_u64();

// ---- Not to be guessed

void fill_secret(std::span<uint8_t> bytes);
uint32_t secret_u32();
// This many bytes, as twice as many hexadecimal digits.
std::string secret_hex(size_t bytes);

}  // namespace runtime
