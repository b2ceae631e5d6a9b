#include "load/interleaved_skimmer.h"

#include <algorithm>
#include <cstring>

namespace load {

namespace {
uint32_t size_of(const uint8_t* header) { return uint32_t{header[2]} << 8 | header[3]; }
}  // namespace

base::Result<void> InterleavedSkimmer::feed(std::span<const uint8_t> bytes, MediaSink& sink) {
    while (!bytes.empty()) {
        if (have_ > 0 || bytes.size() < kHeaderBytes || bytes.size() < kHeaderBytes + size_of(bytes.data())) {
            bytes = bytes.subspan(TRY(go_on(bytes, sink)));
            continue;
        }
        const uint32_t size = size_of(bytes.data());
        if (bytes[0] != '$') return base::fail(base::Code::kProtocol, "no '$' where a frame begins");
        auto payload = bytes.subspan(kHeaderBytes, size);
        TRY(frame(bytes[1], payload.first(std::min<size_t>(size, kPacketHeadBytes)), size, sink));
        bytes = bytes.subspan(kHeaderBytes + size);
    }
    return {};
}

// Takes bytes of a frame that is cut. Returns how many.
base::Result<size_t> InterleavedSkimmer::go_on(std::span<const uint8_t> bytes, MediaSink& sink) {
    const uint32_t wanted = have_ < kHeaderBytes ? kHeaderBytes : kHeaderBytes + size_of(cut_.data());
    const auto n = static_cast<uint32_t>(std::min<size_t>(wanted - have_, bytes.size()));
    if (have_ < cut_.size()) std::memcpy(cut_.data() + have_, bytes.data(), std::min<size_t>(n, cut_.size() - have_));
    const bool had_header = have_ >= kHeaderBytes;
    have_ += n;
    if (cut_[0] != '$') return base::fail(base::Code::kProtocol, "no '$' where a frame begins");
    if (have_ < wanted) return n;
    const uint32_t size = size_of(cut_.data());
    if (!had_header && size > 0) return n;
    have_ = 0;
    auto head = std::span<const uint8_t>(cut_).subspan(kHeaderBytes, std::min<size_t>(size, kPacketHeadBytes));
    TRY(frame(cut_[1], head, size, sink));
    return n;
}

base::Result<void> InterleavedSkimmer::frame(uint8_t channel, std::span<const uint8_t> head, size_t size,
                                             MediaSink& sink) {
    for (size_t track = 0; track < rtp_.tracks(); ++track) {
        if (channel == channels_[track].rtp) return rtp_.packet(track, head, size, sink);
        if (channel != channels_[track].rtcp) continue;
        // Version 2, and the first packet of a compound is one of the report types' range.
        if (size < 8 || head[0] >> 6 != 2 || head[1] < 192 || head[1] > 223)
            return base::fail(base::Code::kProtocol, "a frame on the channel of RTCP that is none");
        return {};
    }
    return base::fail(base::Code::kProtocol, fmt::format("a frame on channel {}, which no track has", channel));
}

}  // namespace load
