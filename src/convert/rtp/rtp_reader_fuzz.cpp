// Arbitrary packets and sender reports of three tracks. Each begins with a byte: track, marker, hole, report, another
// SSRC; then a signed step of the timestamp in units of 256, milliseconds since the last one, the payload's length and
// payload. Frames are of their track, and their decoding times do not go back without a discontinuity.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "convert/rtp/rtp_reader.h"
#include "media/aac.h"

namespace {

std::vector<sdp::SessionTrack> tracks() {
    std::vector<sdp::SessionTrack> tracks(3);
    tracks[0].format.codec = media::Codec::kH264;
    tracks[1].format.codec = media::Codec::kHevc;
    tracks[1].index = 1;
    tracks[2].kind = media::Kind::kAudio;
    tracks[2].format.codec = media::Codec::kAac;
    tracks[2].format.clock_rate = 48'000;
    tracks[2].format.aac_config = media::make_aac_config(2, 48'000, 2);
    return tracks;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    base::ByteReader r(std::span(data, size));
    convert::RtpReader reader(tracks());
    uint32_t timestamps[3] = {};
    media::Time last[3] = {media::kNoTime, media::kNoTime, media::kNoTime};
    int64_t now_us = 0;
    std::vector<media::Frame> out;
    while (r.left() > 0) {
        const uint8_t flags = r.u8();
        const size_t track = flags % 3;
        timestamps[track] += static_cast<uint32_t>(static_cast<int16_t>(r.u16()) * 256);
        now_us += r.u8() * 1000;
        if (flags & 0x20) {
            reader.on_sender_report(track, r.u64(), timestamps[track]);
            continue;
        }
        auto payload = r.bytes(std::min<size_t>(r.u16(), r.left()));
        out.clear();
        reader.push(track, {(flags & 0x40) != 0, 96, 0, timestamps[track], flags & 0x08 ? 2u : 1u}, payload,
                    (flags & 0x80) != 0, now_us, out);
        for (const media::Frame& frame : out) {
            CHECK(frame.track == (track == 1 ? 1 : 0) && !frame.payload.empty());
            if (frame.sequence_header) continue;
            CHECK(frame.dts > last[track] || frame.discontinuity || track != 2);
            last[track] = frame.dts;
        }
    }
    return 0;
}
