#include "protocol/sdp/session/track.h"

#include "protocol/sdp/format.h"

namespace sdp {

std::string_view encoding_name(const rtp::PayloadFormat& format) {
    switch (format.codec) {
        case media::Codec::kAac:
            return format.latm ? "MP4A-LATM" : "mpeg4-generic";
        case media::Codec::kMp3:
            return "MPA";
        default:
            return encoding_of(format.codec);
    }
}

}  // namespace sdp
