#include "server/overload.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/senders/senders.h"

namespace server {

namespace {

constexpr int64_t kSecondMs = 1000;

bool holds(int& seconds, double percent, int threshold, int pulse) {
    seconds = percent >= threshold ? std::min(seconds + 1, pulse) : 0;
    return seconds >= pulse;
}

// Processor time of the loop, and of each sender thread.
std::vector<int64_t> busy_us() {
    std::vector<int64_t> all = {runtime::thread_cpu_us()};
    if (runtime::senders())
        for (const runtime::SenderThreadStats& thread : runtime::senders()->stats().threads)
            all.push_back(thread.busy_us);
    return all;
}

}  // namespace

net::LoadLevel Overload::second(double percent, const config::CircuitBreaker& b) {
    const bool high = holds(high_s_, percent, b.high_threshold, b.high_pulse);
    const bool critical = holds(critical_s_, percent, b.critical_threshold, b.critical_pulse);
    const bool dying = holds(dying_s_, percent, b.dying_threshold, b.dying_pulse);
    if (dying) return net::LoadLevel::kDying;
    if (critical) return net::LoadLevel::kCritical;
    return high ? net::LoadLevel::kHigh : net::LoadLevel::kNormal;
}

base::Result<void> OverloadWatch::start() {
    gate_.add(*this);
    task_ = runtime::spawn("overload", [this] { run(); });
    return {};
}

void OverloadWatch::stop() {
    if (task_) task_.cancel_and_join();
    gate_.remove(*this);
}

void OverloadWatch::run() {
    std::vector<int64_t> cpu_us = busy_us();
    int64_t clock_us = base::monotonic_us();
    while (runtime::sleep_ms(kSecondMs)) {
        const std::vector<int64_t> cpu_now = busy_us();
        const int64_t clock_now = base::monotonic_us();
        int64_t busiest_us = 0;
        for (size_t i = 0; i < cpu_now.size(); ++i) busiest_us = std::max(busiest_us, cpu_now[i] - cpu_us[i]);
        update(100.0 * static_cast<double>(busiest_us) /
               static_cast<double>(std::max<int64_t>(1, clock_now - clock_us)));
        cpu_us = cpu_now;
        clock_us = clock_now;
    }
}

void OverloadWatch::update(double percent) {
    const config::CircuitBreaker& breaker = snapshot_->circuit_breaker;
    if (!breaker.enabled) overload_ = {};
    const net::LoadLevel level = breaker.enabled ? overload_.second(percent, breaker) : net::LoadLevel::kNormal;
    const net::LoadLevel before = operations_.load.level;
    operations_.load.busy_percent = std::clamp(percent, 0.0, 100.0);
    operations_.load.level = level;
    if (level == before) return;
    const std::string text =
        fmt::format("load: {}, was {}; {} is busy {:.0f} % of the time{}", net::load_level_name(level),
                    net::load_level_name(before), runtime::senders() ? "the busiest thread" : "the loop", percent,
                    level == net::LoadLevel::kDying ? "; new players are refused" : "");
    level > before ? base::log::warn("{}", text) : base::log::trace("{}", text);
}

base::Result<void> OverloadWatch::admit(const net::Visitor& visitor, const config::Vhost&) {
    if (visitor.action != net::Action::kPlay || operations_.load.level != net::LoadLevel::kDying) return {};
    if (visitor.may_be_known) return {};
    ++operations_.load.refused;
    return base::fail(
        base::CloseReason::kRefusedLimit,
        fmt::format("the server is overloaded, busy {:.0f} % of the time", operations_.load.busy_percent));
}

}  // namespace server
