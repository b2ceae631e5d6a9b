// Arbitrary text: the first line is the base URL, the rest a description. What is read is within its bounds, makes
// depacketizers, and is the same after it was written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/sdp/session/control.h"
#include "protocol/sdp/session/read.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::string_view base = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(base.size() + 1, text.size()));
    CHECK(sdp::same_url(base, base));
    auto session = sdp::read_session_text(text, base);
    if (!session) return 0;
    CHECK(session->tracks.size() <= sdp::kMaxSessionTracks && session->skipped.size() <= sdp::kMaxSessionTracks);
    CHECK(session->warnings.size() <= 2 * sdp::kMaxSessionTracks);
    for (size_t i = 0; i < session->tracks.size(); ++i) {
        const sdp::SessionTrack& track = session->tracks[i];
        CHECK(track.index < media::kMaxTracks && track.payload_type <= 127);
        CHECK(rtp::make_depacketizer(track.format) != nullptr);
        auto found = sdp::find_track(*session, track.control);
        CHECK(found && *found <= i);
    }
    auto again = sdp::read_session_text(sdp::write_session({}, session->tracks), base);
    if (!again) {
        CHECK(again.error().code() == base::Code::kLimit);
        return 0;
    }
    CHECK(again->tracks.size() == session->tracks.size());
    for (size_t i = 0; i < session->tracks.size(); ++i) {
        const sdp::SessionTrack &one = session->tracks[i], &other = again->tracks[i];
        CHECK(one.kind == other.kind && one.payload_type == other.payload_type);
        CHECK(one.format.codec == other.format.codec && one.format.clock_rate == other.format.clock_rate);
        CHECK(one.format.aac_config == other.format.aac_config && one.format.latm_config == other.format.latm_config);
        CHECK(one.parameter_sets == other.parameter_sets);
    }
    return 0;
}
