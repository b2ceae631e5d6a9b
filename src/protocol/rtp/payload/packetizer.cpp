#include "protocol/rtp/payload/packetizer.h"

#include <algorithm>

namespace rtp {

using base::Result;

void Packetizer::reserve(size_t bytes, size_t payloads) {
    size_t needed = out_->size() + bytes + payloads * options_.headroom;
    // The first frame exactly; a buffer of many frames grows by doubling.
    if (needed > out_->capacity()) out_->reserve(std::max(needed, out_->capacity() * 2));
}

Result<void> Packetizer::write(const media::Frame& frame, base::SliceBuilder& out, std::vector<PayloadSpan>& spans) {
    const size_t size = out.size(), count = spans.size();
    out_ = &out;
    spans_ = &spans;
    auto written = write_payloads(frame);
    out_ = nullptr;
    spans_ = nullptr;
    if (written) return {};
    out.truncate(size);
    spans.resize(count);
    return written;
}

}  // namespace rtp
