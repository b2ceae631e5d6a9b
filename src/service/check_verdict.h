#pragma once
// What came of a check: of a stream (service/api/diagnosis), of a URL (service/url).

#include <cstdint>
#include <string_view>

namespace service {

enum class CheckVerdict : uint8_t { kOk, kUnknown, kWarn, kBad };  // the worst last

// "ok", "unknown", "warn", "bad".
constexpr std::string_view verdict_name(CheckVerdict verdict) {
    constexpr std::string_view kNames[] = {"ok", "unknown", "warn", "bad"};
    return kNames[static_cast<size_t>(verdict)];
}

}  // namespace service
