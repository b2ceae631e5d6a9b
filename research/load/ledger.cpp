#include "load/ledger.h"

#include <cstring>

namespace load {

void Ledger::count_reason(const std::string& what, const base::Error& error) {
    if (error.code() == base::Code::kProtocol) ++stream_errors;
    std::string reason = what + ": " + error.text();
    if (reasons.size() >= kMaxReasons && !reasons.contains(reason)) reason = "others";
    ++reasons[reason];
}

void fill_random(std::span<uint8_t> bytes) {
    static uint64_t state = static_cast<uint64_t>(base::monotonic_us()) | 1;
    while (!bytes.empty()) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        size_t n = std::min(bytes.size(), sizeof state);
        std::memcpy(bytes.data(), &state, n);
        bytes = bytes.subspan(n);
    }
}

}  // namespace load
