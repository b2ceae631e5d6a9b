#include "service/hook/metrics.h"

#include <string_view>

namespace service::hook {

using prometheus::Text;
using prometheus::Type;

// Only hooks that were called: the others would be all zeros.
void write_metrics(const HookStats& stats, Text& text) {
    struct Family {
        std::string_view name, help;
        uint64_t HookCounters::*counter;
    };
    static constexpr Family kFamilies[] = {
        {"srs_hook_calls_total", "Calls, counting each attempt for each URL.", &HookCounters::calls},
        {"srs_hook_refused_total", "Responses that refused the client.", &HookCounters::refused},
        {"srs_hook_failures_total", "Calls without a response, or with an invalid one.", &HookCounters::failures},
        {"srs_hook_retries_total", "Attempts after the first.", &HookCounters::retries},
        {"srs_hook_dropped_total", "Reports that were not delivered.", &HookCounters::dropped}};
    const auto each = [&](const Family& family, Type type, double unit) {
        text.family(family.name, type, family.help);
        for (size_t i = 0; i < stats.of.size(); ++i)
            if (stats.of[i].calls + stats.of[i].dropped > 0)
                text.sample({{"hook", kHookNames[i]}}, unit * static_cast<double>(stats.of[i].*family.counter));
    };
    for (const Family& family : kFamilies) each(family, Type::kCounter, 1);
    each({"srs_hook_in_flight", "Calls in progress.", &HookCounters::in_flight}, Type::kGauge, 1);
    each({"srs_hook_seconds_total", "Total duration of all calls that have ended.", &HookCounters::latency_us},
         Type::kCounter, 1e-6);
    text.single("srs_hook_reports_waiting", Type::kGauge, "Reports in the queues.", static_cast<double>(stats.queued));
}

}  // namespace service::hook
