#include "load/rtp_skimmer.h"

#include <algorithm>
#include <cstring>

#include "protocol/rtp/packet.h"

namespace load {

namespace {

// RFC 6184, 5.2.
enum NalType : uint8_t { kSlice = 1, kKeySlice = 5, kStapA = 24, kFuA = 28 };

bool is_slice(uint8_t type) { return type == kSlice || type == kKeySlice; }

// What FLV has before an access unit, so that a mark is found where mark_of() looks for it.
constexpr uint8_t kVideoHead[] = {0x27, 1, 0, 0, 0, 0, 0, 0, 0};
constexpr uint8_t kAudioHead[] = {0xaf, 1};

}  // namespace

bool RtpSkimmer::add_track(bool is_video, uint32_t clock_rate, bool is_h264) {
    if (count_ == kMaxTracks || clock_rate == 0) return false;
    Track& track = tracks_[count_++];
    track.is_video = is_video;
    track.clock_rate = clock_rate;
    track.is_h264 = is_h264;
    return true;
}

// How many packets were left out before this one; -1: it is late, and was counted as left out.
int RtpSkimmer::count_missing(Track& track, uint16_t sequence) {
    const auto ahead = track.next ? static_cast<int16_t>(sequence - *track.next) : int16_t{0};
    if (ahead < 0) return -1;
    track.next = static_cast<uint16_t>(sequence + 1);
    return ahead;
}

// The beginning of the unit's first slice. An aggregation packet may have one behind parameter sets.
void RtpSkimmer::keep_head(Track& track, std::span<const uint8_t> payload) {
    if (track.is_video) {
        if (!track.is_h264 || track.has_slice || payload.size() < 2) return;
        const uint8_t type = payload[0] & 31;
        const bool first_fragment = type == kFuA && (payload[1] & 0x80) && is_slice(payload[1] & 31);
        track.has_slice = is_slice(type) || first_fragment;
        if (!track.has_slice && type != kStapA) return;
    } else if (track.head_size > 0) {
        return;
    }
    std::span<const uint8_t> before = kAudioHead;
    if (track.is_video) before = kVideoHead;
    std::memcpy(track.head.data(), before.data(), before.size());
    const size_t kept = std::min(payload.size(), kHeadBytes - before.size());
    std::memcpy(track.head.data() + before.size(), payload.data(), kept);
    track.head_size = static_cast<uint8_t>(before.size() + kept);
}

base::Result<void> RtpSkimmer::packet(size_t index, std::span<const uint8_t> head, size_t size, MediaSink& sink) {
    Track& track = tracks_[index];
    const size_t header = rtp::header_size(head);
    if (header == 0 || header > size) return base::fail(base::Code::kProtocol, "a packet that is not RTP");
    const int missing = count_missing(track, rtp::get_u16(head.data() + 2));
    sink.on_packet(missing);
    if (missing != 0) {  // no unit is put together of what is left
        track.unit_bytes = 0;
        track.head_size = 0;
        track.has_slice = false;
        if (missing < 0) return {};
    }
    track.unit_bytes += static_cast<uint32_t>(size - header);
    keep_head(track, head.subspan(header));
    if (!(head[1] & 0x80)) return {};
    const auto ms = static_cast<uint32_t>(uint64_t{rtp::get_u32(head.data() + 4)} * 1000 / track.clock_rate);
    sink.on_media({static_cast<uint8_t>(track.is_video ? 9 : 8), ms, track.unit_bytes,
                   std::span<const uint8_t>(track.head.data(), track.head_size)});
    track.unit_bytes = 0;
    track.head_size = 0;
    track.has_slice = false;
    return {};
}

}  // namespace load
