#include "live/rtp/rtp_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/senders/senders.h"

namespace live {

RtpRing::RtpRing(const RtpRingLimits& limits) : limits_(limits) { CHECK(std::has_single_bit(limits.packets)); }

const RtpPacket* RtpRing::find(uint8_t track, uint64_t sequence) const {
    if (track >= kMaxTracks || slots_.empty() || tracks_[track].position.empty()) return nullptr;
    const uint64_t low = tracks_[track].position[sequence & mask_];
    // The newest position below the end with these low bits.
    const uint64_t position = end_ - 1 - static_cast<uint32_t>(end_ - 1 - low);
    if (position < begin_ || position >= end_) return nullptr;
    const RtpPacket& packet = at(position);
    return packet.track == track && packet.sequence == sequence ? &packet : nullptr;
}

std::optional<uint64_t> RtpRing::newest_keyframe() const {
    if (keyframe_ == UINT64_MAX || keyframe_ < begin_) return std::nullopt;
    return keyframe_;
}

void RtpRing::append(RtpPacket packet, std::span<const uint8_t> payload) {
    CHECK(packet.track < kMaxTracks);
    if (packets() == slots_.size()) {
        if (slots_.size() < limits_.packets) {
            grow();
        } else {
            drop_first();
        }
    }
    record_start(packet);
    packet.payload = store(payload);
    bytes_ += payload.size();
    std::vector<uint32_t>& position = tracks_[packet.track].position;
    if (position.empty()) position.resize(slots_.size());
    position[packet.sequence & mask_] = static_cast<uint32_t>(end_);
    const int64_t now_us = packet.arrival_us;
    slots_[end_ & mask_] = std::move(packet);
    ++end_;
    if (now_us >= trim_at_us_ || bytes_ > limits_.bytes) trim(now_us);
}

void RtpRing::record_start(const RtpPacket& packet) {
    Track& track = tracks_[packet.track];
    if (!track.has_unit || (track.unit_timestamp != packet.timestamp && !packet.late)) {
        track.has_unit = true;
        track.begun = false;
        track.unit_timestamp = packet.timestamp;
        track.unit_begin = end_;
    }
    // Parameter sets may precede the packet that is recognized as a keyframe: the unit's first packet is the start.
    if (!packet.keyframe || track.begun || track.unit_timestamp != packet.timestamp) return;
    track.begun = true;
    keyframe_ = track.unit_begin;
}

base::Slice RtpRing::store(std::span<const uint8_t> payload) {
    if (payload.empty()) return {};
    if (payload.size() > free_bytes_) {
        base::SliceBuilder builder(std::max(kBlockBytes, payload.size()));
        free_bytes_ = builder.capacity();
        free_ = builder.extend(free_bytes_);
        block_ = builder.freeze();
    }
    std::memcpy(free_, payload.data(), payload.size());
    base::Slice stored = block_.sub(static_cast<size_t>(free_ - block_.data()), payload.size());
    free_ += payload.size();
    free_bytes_ -= payload.size();
    return stored;
}

void RtpRing::trim(int64_t now_us) {
    trim_at_us_ = now_us + kTrimEveryUs;
    while (bytes_ > limits_.bytes) drop_first();
    while (begin_ + 1 < end_) {
        const int64_t age = now_us - at(begin_).arrival_us;
        if (age <= limits_.history_us || (age <= limits_.max_us && begin_ == keyframe_)) return;
        drop_first();
    }
}

void RtpRing::drop_first() {
    RtpPacket& first = slots_[begin_ & mask_];
    uint64_t& highest = tracks_[first.track].highest_dropped;
    highest = std::max(highest, first.sequence);
    bytes_ -= first.payload.size();
    ++begin_;
    // Other holders of the block do not know of the threads: its last packet here keeps it for them.
    runtime::Senders* threads = runtime::senders();
    if (threads && !(begin_ < end_ && first.payload.shares_memory(at(begin_).payload)))
        threads->retire(std::move(first.payload));
    first.payload = {};
}

void RtpRing::grow() {
    const size_t size = slots_.empty() ? std::min(kFirstSlots, limits_.packets) : slots_.size() * 2;
    std::vector<RtpPacket> wider(size);
    for (Track& track : tracks_)
        if (!track.position.empty()) track.position.assign(size, 0);
    for (uint64_t position = begin_; position < end_; ++position) {
        RtpPacket& packet = slots_[position & mask_];
        tracks_[packet.track].position[packet.sequence & (size - 1)] = static_cast<uint32_t>(position);
        wider[position & (size - 1)] = std::move(packet);
    }
    slots_ = std::move(wider);
    mask_ = size - 1;
}

void RtpRing::forget_keyframe(uint8_t track) {
    CHECK(track < kMaxTracks);
    keyframe_ = UINT64_MAX;
    tracks_[track].has_unit = false;
}

void RtpRing::clear() {
    if (runtime::senders())
        while (begin_ < end_) drop_first();
    begin_ = end_;
    bytes_ = 0;
    keyframe_ = UINT64_MAX;
    std::vector<RtpPacket>().swap(slots_);
    tracks_ = {};
    block_ = {};
    free_ = nullptr;
    free_bytes_ = 0;
}

}  // namespace live
