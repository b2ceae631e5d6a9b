// Transport: what is written is read as the same, and a session takes any list in any order of tracks.

#include <string_view>

#include "base/result.h"
#include "protocol/rtsp/server_session.h"
#include "protocol/rtsp/transport.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    const auto list = rtsp::parse_transports(text);
    if (!list) return 0;
    CHECK(list->size() <= rtsp::kMaxTransports);
    rtsp::ServerSession session;
    CHECK(session.set_tracks(rtsp::ServerSession::Direction::kPlay, data[0] % (rtsp::ServerSession::kMaxTracks + 1)));
    for (size_t track = 0; track < 16; ++track) {
        const auto [outcome, choice] = session.choose(track, *list, {});
        if (!outcome) continue;
        CHECK(track < session.tracks());
        session.set_up(track, choice);
        const rtsp::Transport chosen = session.transport(track);
        const auto again = rtsp::parse_transports(rtsp::write(chosen));
        if (chosen.tcp) {
            CHECK(again && again->size() == 1 && again->front() == chosen);
            CHECK(session.channel(chosen.interleaved->rtp)->track == track);
        }
    }
    CHECK(session.play().status == (session.tracks_set_up() > 0 ? 200 : 455));
    return 0;
}
