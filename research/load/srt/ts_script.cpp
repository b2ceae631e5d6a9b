#include "load/srt/ts_script.h"

#include <algorithm>
#include <optional>

namespace load::srt {
namespace {

constexpr size_t kPacket = 188, kPacketsOfMessage = 7;
constexpr uint8_t kSync = 0x47, kHasAdaptation = 0x20, kHasReference = 0x10;
constexpr int64_t kReferenceWrap = int64_t{1} << 33;

// The base of a packet's clock reference, 33 bits of 90 kHz (2.4.3.5); nothing: it has none.
std::optional<int64_t> reference_of(std::span<const uint8_t> packet) {
    if (!(packet[3] & kHasAdaptation) || packet[4] < 7 || !(packet[5] & kHasReference)) return std::nullopt;
    int64_t base = 0;
    for (size_t i = 6; i < 10; ++i) base = base << 8 | packet[i];
    return base << 1 | packet[10] >> 7;
}

}  // namespace

base::Result<TsScript> TsScript::parse(std::vector<uint8_t> file) {
    TsScript script;
    script.bytes_ = std::move(file);
    const std::span<const uint8_t> bytes = script.bytes_;
    if (bytes.empty() || bytes.size() % kPacket != 0)
        return base::fail(base::Code::kProtocol, "a file of transport stream packets is needed");
    std::optional<int64_t> first, last;
    int64_t time_us = 0, step_us = 0;
    for (size_t at = 0; at < bytes.size(); at += kPacket) {
        const auto packet = bytes.subspan(at, kPacket);
        if (packet[0] != kSync) return base::fail(base::Code::kProtocol, "a packet without sync byte");
        bool begins = script.cuts_.empty() || script.cuts_.back().size == kPacketsOfMessage * kPacket;
        if (const auto reference = reference_of(packet)) {
            if (!first) first = last = reference;
            const int64_t step = (*reference - *last + kReferenceWrap) % kReferenceWrap;
            if (step > kReferenceWrap / 2) return base::fail(base::Code::kProtocol, "a clock reference goes back");
            step_us = std::max(step_us, step * 100 / 9);
            last = reference;
            time_us += step * 100 / 9;
            begins = begins || step > 0;
        }
        if (begins) script.cuts_.push_back({time_us, at, 0});
        script.cuts_.back().size += kPacket;
    }
    if (time_us == 0) return base::fail(base::Code::kProtocol, "there are no two clock references");
    script.round_us_ = time_us + step_us;
    return script;
}

TsScript::Message TsScript::at(uint64_t index) const {
    const Cut& cut = cuts_[index % cuts_.size()];
    return {cut.time_us + static_cast<int64_t>(index / cuts_.size()) * round_us_,
            std::span(bytes_).subspan(cut.offset, cut.size)};
}

}  // namespace load::srt
