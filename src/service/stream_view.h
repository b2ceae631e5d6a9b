#pragma once
// StreamView: a stream's figures as plain values, of which the API and the metrics are written. Taken from the live
// stream and from its account; either may be missing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "live/hub/registry.h"
#include "media/track.h"
#include "net/sessions/session.h"

namespace service {

// A track of a stream that has several of a kind.
struct TrackView {
    media::Kind kind = media::Kind::kVideo;
    int index = 0;
    media::Codec codec = media::Codec::kNone;
    std::string language{};
    std::string label{};
};

// A publisher that waits while another one has the name.
struct StandbyView {
    std::string id{};  // of its session
    std::string ip{};
    int priority = 0;
    bool sends = false;  // frames, within standby_timeout
    int64_t waiting_ms = 0;
    std::optional<int64_t> keyframe_age_ms{};
};

struct StreamView {
    live::StreamKey key{};
    std::string id{};         // in the API
    std::string vhost_id{};   // in the API
    std::string tc_url{};     // of the publisher, or made from vhost and app
    std::string publisher{};  // the id of the session that publishes; empty: none, or not known
    bool published = false;
    bool is_copy = false;  // of what the server's other process has
    size_t players = 0;    // live::Stream::players()
    size_t clients = 0;    // publisher and players
    live::StreamCounters counters{};
    live::StreamMemory memory{};  // bytes
    size_t memory_limit = 0;      // bytes
    net::Traffic traffic{};
    net::Rates rates{};
    // The formats that the publisher sends; nothing: there is no such track.
    std::optional<media::VideoInfo> video{};
    std::optional<media::AudioInfo> audio{};
    std::vector<TrackView> tracks{};  // all of them; empty: there is at most one of a kind
    size_t dropped_tracks = 0;        // that the publisher sends beyond them
    std::vector<StandbyView> standbys{};
    // Figures of the last groups of pictures.
    double bitrate = 0;     // bit/s
    double frame_rate = 0;  // video frames a second
    int64_t gop_ms = 0;     // distance of the last two keyframes; 0: there were not two
    std::optional<int64_t> keyframe_age_ms{};
    std::optional<int64_t> audio_ahead_ms{};  // of the video that came with it
};

// Publisher and players.
size_t clients_of(const live::Stream& stream);

// Does not yield.
StreamView view_of(const live::StreamKey& key, const live::Registry& registry, const net::SessionTable& sessions);

// Whether the session publishes, and its publication waits.
bool is_standby(const net::Session& session, const live::Registry& registry);

// How far the slowest viewer is behind, ms. Visits every viewer.
int64_t slowest_viewer_ms(live::Stream& stream);

}  // namespace service
