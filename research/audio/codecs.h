#pragma once
// The steps of the server's audio conversion one by one, by the same libraries, so that each is measured alone and with
// options that the server does not take.

extern "C" {
#include <libavcodec/avcodec.h>
#include <libswresample/swresample.h>
}

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "audio/quality.h"

namespace audio {

using Packet = std::vector<uint8_t>;

struct Encoded {
    std::vector<uint8_t> header;
    std::vector<Packet> packets;
    size_t bytes() const;
};

using Options = std::vector<std::pair<std::string, std::string>>;

// Interleaved, at the stream's own rate.
struct Decoded {
    Pcm pcm;
    int rate = 48'000;
};

Decoded decode(const char* decoder, std::span<const uint8_t> header, std::span<const Packet> packets);
// To 48 kHz, `block` samples at a time; from the same rate it copies.
Pcm resample(const Decoded& from, int block);
Encoded encode(const char* encoder, int bitrate, const Options& options, const Pcm& pcm);

}  // namespace audio
