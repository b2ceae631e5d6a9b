#pragma once
// The multivariant playlist (RFC 8216, 4.3.4): how a stream's tracks are described in it, and its text. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "media/track_set.h"
#include "protocol/m3u8/playlist.h"

namespace service::hls {

// An audio track of a group.
struct AudioMember {
    uint8_t index = 0;
    const media::Track* track = nullptr;  // null: it is not known, as after a restart
    std::string playlist{};               // its path; empty: it is in the variant
};

// How the playlist describes them; the first is the default. No two have the same name.
std::vector<m3u8::AudioRendition> describe_audio(const std::vector<AudioMember>& members);

// BANDWIDTH of a variant whose segment with the highest rate has that one: rounded up, and more while there are few
// segments, because players rely on it for as long as they play.
uint64_t announced_bandwidth(uint64_t highest, size_t segments);

// The text of the playlist at `path`, in which URIs still are paths below hls_path: they become relative to it, behind
// `directory` and with `query` ("?a=b"), which may be empty.
std::string write_multivariant(m3u8::MultivariantPlaylist playlist, std::string_view path, std::string_view directory,
                               std::string_view query);

}  // namespace service::hls
