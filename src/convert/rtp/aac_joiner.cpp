#include "convert/rtp/aac_joiner.h"

#include <utility>

#include "base/bytes.h"
#include "media/aac.h"

namespace convert {

using media::Frame;
using media::Time;

namespace {

// Times of RTMP are rounded to milliseconds.
constexpr Time kSlack = std::chrono::milliseconds(3);

}  // namespace

std::optional<AacJoiner> AacJoiner::make(std::span<const uint8_t> config, size_t max_payload) {
    const auto parsed = media::parse_aac_config(config);
    if (!parsed || parsed->core_sample_rate <= 0) return std::nullopt;
    return AacJoiner(media::from_ticks(parsed->samples_per_frame, parsed->core_sample_rate), max_payload);
}

bool AacJoiner::follows(const Frame& frame) const {
    const auto count = static_cast<int64_t>(waiting_.size());
    return media::distance(frame.pts(), waiting_.front().pts() + count * duration_) <= kSlack && !frame.discontinuity;
}

void AacJoiner::push(const Frame& frame, Time wait, std::vector<JoinedAac>& out) {
    const size_t with = bytes_of(waiting_.size() + 1) + waiting_bytes_ + frame.payload.size();
    if (!waiting_.empty() && (with > max_payload_ || !follows(frame))) flush(out);
    waiting_.push_back(frame);
    waiting_bytes_ += frame.payload.size();
    if (static_cast<int64_t>(waiting_.size()) * duration_ >= wait) flush(out);
}

void AacJoiner::flush(std::vector<JoinedAac>& out) {
    if (waiting_.empty()) return;
    std::vector<uint8_t> payload(bytes_of(waiting_.size()));
    payload.reserve(payload.size() + waiting_bytes_);
    uint8_t* head = base::put_u16(payload.data(), static_cast<uint32_t>(16 * waiting_.size()));
    for (const Frame& frame : waiting_) head = base::put_u16(head, static_cast<uint32_t>(frame.payload.size() << 3));
    for (const Frame& frame : waiting_) payload.insert(payload.end(), frame.payload.begin(), frame.payload.end());
    JoinedAac& joined = out.emplace_back();
    joined.first = std::move(waiting_.front());
    joined.payload = std::move(payload);
    waiting_.clear();
    waiting_bytes_ = 0;
}

}  // namespace convert
