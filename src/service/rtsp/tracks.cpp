#include "service/rtsp/tracks.h"

#include "base/result.h"
#include "service/rtsp/interleaved.h"

namespace service::rtsp {

namespace {

// 24 bits of a track in the key: channel, kind, index, payload type, codec. 0: no track, because a codec is not 0.
constexpr unsigned kBits = 24;
static_assert(kMaxPlayTracks * kBits <= 3 * 32);
static_assert(static_cast<unsigned>(media::Codec::kAmf0) < 32 && media::kMaxTracks <= 8);

uint32_t pack(const PlayTrack& track) {
    return uint32_t{track.channel} << 16 | (track.kind == media::Kind::kAudio ? 1u : 0u) << 15 |
           (track.index & 7u) << 12 | (track.payload_type & 127u) << 5 | static_cast<uint32_t>(track.codec);
}

PlayTrack unpack(uint32_t bits) {
    PlayTrack track;
    track.channel = static_cast<uint8_t>(bits >> 16);
    track.kind = bits >> 15 & 1 ? media::Kind::kAudio : media::Kind::kVideo;
    track.index = static_cast<uint8_t>(bits >> 12 & 7);
    track.payload_type = static_cast<uint8_t>(bits >> 5 & 127);
    track.codec = static_cast<media::Codec>(bits & 31);
    return track;
}

}  // namespace

// Four times 24 bits in three words: a word has one track, and a byte of the fourth.
live::LogKey PlayKey::log_key() const {
    live::LogKey key{interleaved_format(), {}};
    const uint32_t last = size_ > 3 ? pack(tracks_[3]) : 0;
    for (size_t i = 0; i < 3; ++i) key.parameters[i] = (i < size_ ? pack(tracks_[i]) : 0) << 8 | (last >> 8 * i & 255);
    return key;
}

PlayKey::PlayKey(const live::LogKey& key) {
    uint32_t last = 0;
    for (size_t i = 0; i < 3; ++i) {
        if (key.parameters[i] >> 8) add(unpack(key.parameters[i] >> 8));
        last |= (key.parameters[i] & 255) << 8 * i;
    }
    if (last) add(unpack(last));
}

void PlayKey::add(const PlayTrack& track) {
    if (size_ < kMaxPlayTracks) tracks_[size_++] = track;
}

bool PlayKey::is_common() const {
    for (size_t i = 0; i < size_; ++i)
        if (tracks_[i].channel != 2 * i) return false;
    return true;
}

}  // namespace service::rtsp
