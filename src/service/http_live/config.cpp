#include "service/http_live/config.h"

#include "config/row_builder.h"

namespace service::http_live {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope remux{"vhost/http_remux", kOfVhost<VhostConfig>};
    using H = VhostConfig;
    rows.push_back(row(remux, "enabled", &H::enabled, none(), kLive,
                       "Live streams by HTTP and WebSocket: .flv, and .aac and .mp3 for audio."));
    // Live streams keep it: see live/hub/options.h.
    const Scope cache{"vhost/http_remux", [](const auto& root) -> decltype(auto) { return (root.vhost->play); }};
    rows.push_back(row(cache, "fast_cache", &VhostPlay::audio_cache, 0, seconds(0, 600), kLive,
                       "Audio that is kept for a new player of .aac or .mp3, so that it starts at once; 0: none."));
    rows.push_back(row(remux, "drop_if_not_match", &H::drop_if_not_match, none(), kLive,
                       "Frames of a kind (audio, video) that the FLV header excludes are not sent."));
    rows.push_back(row(remux, "has_audio", &H::has_audio, none(), kLive, "The FLV header announces audio."));
    rows.push_back(row(remux, "has_video", &H::has_video, none(), kLive, "The FLV header announces video."));
    rows.push_back(row(remux, "guess_has_av", &H::guess_has_av, none(), kLive,
                       "The FLV header announces the tracks of the stream; off: as has_audio and has_video say."));
    rows.push_back(row(remux, "mount", &H::mount, none(), kLive,
                       "The URL of a stream, with variables; a part before the first / is the host. The "
                       "extension in the request selects the format: .flv, .ts, .aac or .mp3."));
    rows.push_back(row(remux, "wait_publisher", &H::wait_publisher, none(), kLive,
                       "A player without a publisher waits for it, and gets 404 after wait_publisher_timeout; "
                       "off: 404 at once. A URL that matches hls_ts_file gets 404 at once, because it names an "
                       "old segment."));
    rows.push_back(row(remux, "wait_publisher_timeout", &H::wait_publisher_timeout, milliseconds(100, 600'000), kLive,
                       "Time for which a player waits."));
}

}  // namespace

config::Section section() { return {.service = "http_live", .add_rows = add_rows}; }

}  // namespace service::http_live
