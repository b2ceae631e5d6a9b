#pragma once
// The hooks by name, and counters of the results of their calls.

#include <array>
#include <cstddef>
#include <cstdint>
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
};
inline constexpr std::array<std::string_view, 10> kHookNames = {
    "on_connect", "on_close", "on_publish", "on_unpublish",  "on_play",
    "on_stop",    "on_dvr",   "on_hls",     "on_hls_notify", "on_standby"};
constexpr std::string_view hook_name(Hook hook) { return kHookNames[static_cast<size_t>(hook)]; }

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
    uint64_t queued = 0;  // reports waiting, current value
    HookCounters& at(Hook hook) { return of[static_cast<size_t>(hook)]; }
    const HookCounters& at(Hook hook) const { return of[static_cast<size_t>(hook)]; }
};

}  // namespace service::hook
