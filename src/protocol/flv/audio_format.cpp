#include "protocol/flv/audio_format.h"

#include "media/audio_headers.h"
#include "protocol/flv/codec_ids.h"

namespace flv {

using media::Codec;

namespace {

void read(uint8_t format, media::AudioInfo& info) {
    constexpr int kRates[] = {5512, 11025, 22050, 44100};
    info.sample_rate = kRates[format >> 2 & 3];
    info.channels = format & 1 ? 2 : 1;
    switch (format >> 4) {
        case 4:   // Nellymoser 16 kHz mono
        case 11:  // Speex
            info.sample_rate = 16000;
            info.channels = 1;
            break;
        case 5:  // Nellymoser 8 kHz mono
        case 7:  // G.711
        case 8:
            info.sample_rate = 8000;
            break;
        default:
            break;
    }
}

bool says_nothing(Codec codec) {
    switch (codec) {
        case Codec::kPcmAlaw:
        case Codec::kPcmUlaw:
        case Codec::kPcm:
        case Codec::kPcmLe:
        case Codec::kAdpcm:
        case Codec::kSpeex:
        case Codec::kNellymoser:
            return true;
        default:
            return false;
    }
}

}  // namespace

base::Result<media::AudioInfo> audio_info(const media::Frame& frame) {
    media::AudioInfo info = TRY(media::audio_info(frame));
    if (frame.publisher_format && says_nothing(frame.codec)) read(frame.publisher_format, info);
    return info;
}

std::optional<int> channels(const media::Frame& frame) {
    return frame.publisher_format ? std::optional((frame.publisher_format & 1) + 1) : std::nullopt;
}

uint8_t audio_format(const media::Frame& frame) {
    if (frame.publisher_format) return frame.publisher_format;
    auto format = static_cast<uint8_t>(codec_ids(frame.codec).id << 4);
    if (frame.codec == Codec::kMp3) {
        if (auto mp3 = media::parse_mpeg_audio(frame.payload)) {
            uint8_t rate = mp3->sample_rate >= 32000 ? 3 : mp3->sample_rate >= 16000 ? 2 : 1;
            return static_cast<uint8_t>(format | rate << 2 | 2 | (mp3->channels == 2));
        }
    }
    return format | 0x0f;
}

}  // namespace flv
