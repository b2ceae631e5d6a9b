#include "server/reports/udp_report.h"

#include "base/clock.h"
#include "base/log.h"
#include "runtime/socket/udp.h"

namespace server {

base::Result<void> UdpReport::start() {
    static_cast<void>(runtime::measure_udp());
    printed_ = runtime::udp_totals();
    printed_ms_ = base::monotonic_ms();
    task_ = runtime::spawn("udp-report", [this] { run(); });
    return {};
}

void UdpReport::run() {
    constexpr int64_t kSecondMs = 1000;
    while (runtime::sleep_ms(kSecondMs)) {
        const runtime::UdpRate second = runtime::measure_udp();
        if (second.has_loss())
            base::log::warn("UDP: datagrams were lost in this second: {}, received {}, sent {}", second.loss(),
                            second.received, second.sent);
        const int64_t now_ms = base::monotonic_ms();
        if (now_ms - printed_ms_ < snapshot_->global.pithy_print_ms) continue;
        const runtime::UdpStats now = runtime::udp_totals();
        const runtime::UdpRate mean = runtime::udp_rate_between(printed_, now, now_ms - printed_ms_);
        if (mean.received > 0 || mean.sent > 0 || mean.has_loss())
            base::log::trace("UDP: {} sockets, a second: received {}, sent {}, {}", runtime::udp_sockets(),
                             mean.received, mean.sent, mean.loss());
        printed_ = now;
        printed_ms_ = now_ms;
    }
}

}  // namespace server
