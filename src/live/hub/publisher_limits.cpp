#include "live/hub/publisher_limits.h"

#include <fmt/core.h>

#include "live/hub/input_faults.h"
#include "live/hub/stream.h"

namespace live {

std::string PublisherLimits::silence_text(const InputFaults* faults) const {
    std::string text =
        has_media_ ? fmt::format("no usable audio or video for {} ms (normal_timeout)", silence_ms_)
                   : fmt::format("no usable audio or video within {} ms of its start (firstpkt_timeout)", first_ms_);
    if (faults && faults->total() > 0)
        text += fmt::format("; {} messages were dropped, the last one: {}", faults->total(), faults->last_text());
    return text;
}

std::optional<PublisherLimits::Passed> PublisherLimits::passed(int64_t now_us, const Stream* stream,
                                                               const InputFaults* faults) const {
    if (now_us >= silent_at().at_us()) return Passed{silence_text(faults), base::CloseReason::kPeerTimeout};
    if (idle_s_ <= 0 || !stream) return std::nullopt;
    const int64_t since_ms = stream->idle_since_ms();
    if (since_ms == 0 || now_us / 1000 - since_ms < idle_s_ * int64_t{1000}) return std::nullopt;
    return Passed{fmt::format("no viewer for {} s (kickoff_for_idle)", idle_s_), base::CloseReason::kNoViewers};
}

}  // namespace live
