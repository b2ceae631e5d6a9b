#pragma once
// The multivariant playlist (RFC 8216, 4.3.4) of a stream: one variant with the main rendition, and a group with the
// audio tracks if there are several. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "media/track_set.h"
#include "protocol/m3u8/playlist.h"

namespace service::hls {

// URIs are paths below hls_path.
struct Master {
    m3u8::Variant variant{};
    std::vector<m3u8::AudioRendition> audio{};  // empty, or all tracks that the format carries
};

// An audio track of a group.
struct AudioMember {
    uint8_t index = 0;
    const media::Track* track = nullptr;  // null: it is not known, as after a restart
    std::string playlist{};               // its path; empty: it is in the variant
};

// How the playlist describes them; the first is the default. No two have the same name.
std::vector<m3u8::AudioRendition> describe_audio(const std::vector<AudioMember>& members);

}  // namespace service::hls
