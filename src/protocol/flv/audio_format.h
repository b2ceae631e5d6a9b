#pragma once
// The first byte of FLV's AUDIODATA (Adobe Flash Video File Format 10.1, E.4.2.1): format, rate, size and channels. It
// is Frame::publisher_format of audio that came in a sound format, because players of MP3, Speex and PCM read it.

#include "media/track.h"

namespace flv {

// media::audio_info(), and of codecs whose frames say nothing of themselves what the byte says.
base::Result<media::AudioInfo> audio_info(const media::Frame& frame);
// 1 or 2; nothing: the frame did not come in a sound format.
std::optional<int> channels(const media::Frame& frame);
// The byte: the one it came with, else one that is made of the codec. For AAC it is always the same.
uint8_t audio_format(const media::Frame& frame);

}  // namespace flv
