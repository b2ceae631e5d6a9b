#pragma once
// The hooks by name, and counters of the results of their calls.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace service::hook {

enum class Hook : uint8_t {
    kOnConnect,
    kOnClose,
    kOnPublish,
    kOnUnpublish,
    kOnPlay,
    kOnStop,
    kOnDvr,
    kOnHls,
    kOnHlsNotify,
    kOnStandby,
    kOnStart,
    kOnAlert,
};
inline constexpr std::array<std::string_view, 12> kHookNames = {
    "on_connect", "on_close", "on_publish",    "on_unpublish", "on_play",  "on_stop",
    "on_dvr",     "on_hls",   "on_hls_notify", "on_standby",   "on_start", "on_alert"};
constexpr std::string_view hook_name(Hook hook) { return kHookNames[static_cast<size_t>(hook)]; }
constexpr std::optional<Hook> hook_of(std::string_view name) {
    for (size_t i = 0; i < kHookNames.size(); ++i)
        if (kHookNames[i] == name) return static_cast<Hook>(i);
    return std::nullopt;
}

// Why a report was not delivered.
enum class Drop : uint8_t {
    kFull,      // outbox_max_size
    kAge,       // outbox_max_age
    kRejected,  // no valid answer to it, while others had one
    kRemoved,   // its hook is not configured any more
    kStopped,   // the server ended, and it was not on disk
};
inline constexpr std::array<std::string_view, 5> kDropNames = {"full", "age", "rejected", "removed", "stopped"};
constexpr std::string_view drop_name(Drop why) { return kDropNames[static_cast<size_t>(why)]; }

struct HookCounters {
    uint64_t calls = 0;       // started calls, each attempt of each URL
    uint64_t refused = 0;     // answered, but not with acceptance
    uint64_t failures = 0;    // no answer, or none that can be parsed
    uint64_t retries = 0;     // attempts after the first, of report hooks
    uint64_t dropped = 0;     // reports that were never delivered
    uint64_t in_flight = 0;   // current value
    uint64_t latency_us = 0;  // sum over all calls that have ended
};

struct HookStats {
    std::array<HookCounters, kHookNames.size()> of{};
    std::array<uint64_t, kDropNames.size()> dropped{};  // by Drop
    uint64_t not_asked = 0;  // queries that on_failure decided without a call, because the host was down
    HookCounters& at(Hook hook) { return of[static_cast<size_t>(hook)]; }
    const HookCounters& at(Hook hook) const { return of[static_cast<size_t>(hook)]; }
};

}  // namespace service::hook
