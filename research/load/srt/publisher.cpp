#include "load/srt/publisher.h"

#include "base/clock.h"

namespace load::srt {

::srt::Connection Publisher::connect(const ::srt::Agreement& agreement) {
    start_us_ = base::monotonic_us();
    return ::srt::Connection::sending(agreement, {}, 1);
}

::srt::History::Entry Publisher::entry(int64_t index) const {
    const TsScript::Message message = script_.at(static_cast<uint64_t>(index - 1));
    return {start_us_ + message.time_us, message.bytes};
}

void Publisher::send_data(int64_t now_us) {
    while (entry(end_).time_us <= now_us) {
        ledger().lateness_us.add(now_us - entry(end_).time_us);
        ++end_;
    }
    while (const auto next = live().next_data(now_us, *this, policy())) send(next->header, entry(next->index).bytes);
}

int64_t Publisher::data_deadline() const {
    return std::min(connection()->deadline(*this, policy()), entry(end_).time_us);
}

}  // namespace load::srt
