#include "service/hook/metrics.h"

#include <string_view>
#include <vector>

#include "service/hook/api.h"

namespace service::hook {

using prometheus::Text;
using prometheus::Type;

namespace {

void write_outbox(const Service& service, Text& text) {
    const Outbox& outbox = service.outbox();
    const HookStats& stats = service.stats();
    text.single("srs_hook_reports_waiting", Type::kGauge, "Reports in the outbox, those under way included.",
                static_cast<double>(outbox.waiting()));
    text.single("srs_hook_outbox_bytes", Type::kGauge, "Memory of the reports in the outbox.",
                static_cast<double>(outbox.bytes()));
    text.single("srs_hook_outbox_file_bytes", Type::kGauge, "Size of the file of hook_outbox.",
                static_cast<double>(service.file().bytes()));
    text.single("srs_hook_outbox_unsaved_total", Type::kCounter,
                "Lines that the file of hook_outbox had no room for, or the disk did not take.",
                static_cast<double>(service.file().lost()));
    text.family("srs_hook_reports_dropped_total", Type::kCounter, "Reports that were not delivered, by the reason.");
    for (size_t i = 0; i < kDropNames.size(); ++i)
        text.sample({{"reason", kDropNames[i]}}, static_cast<double>(stats.dropped[i]));
    text.single("srs_hook_not_asked_total", Type::kCounter,
                "Queries that were left out, because the host was down and another one found out.",
                static_cast<double>(stats.not_asked));
}

void write_hosts(const Service& service, Text& text) {
    const std::vector<HostState> hosts = host_states(service);
    const auto each = [&](std::string_view name, std::string_view help, auto value) {
        text.family(name, Type::kGauge, help);
        for (const HostState& host : hosts) text.sample({{"host", host.name}}, static_cast<double>(value(host)));
    };
    each("srs_hook_host_up", "Whether the hook server answers.", [](const HostState& h) { return h.is_down ? 0 : 1; });
    each("srs_hook_host_waiting", "Reports that wait for the hook server.",
         [](const HostState& h) { return h.reports.waiting; });
    each("srs_hook_host_oldest_seconds", "Age of the oldest report that waits for it.",
         [](const HostState& h) { return static_cast<double>(h.reports.oldest_ms) / 1000; });
}

}  // namespace

// Only hooks that were called: the others would be all zeros.
void write_metrics(const Service& service, Text& text) {
    const HookStats& stats = service.stats();
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
    write_outbox(service, text);
    write_hosts(service, text);
}

}  // namespace service::hook
