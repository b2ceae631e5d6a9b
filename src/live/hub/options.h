#pragma once
// The configuration of one vhost's live streams, in the engine's terms.

#include <cstdint>

#include "config/snapshot.h"

namespace live {

using config::TimeJitter;

struct LiveOptions {
    bool gop_cache = true;             // a new viewer starts at the newest keyframe, else at the next one
    int gop_cache_max_frames = 2500;   // a longer GOP is not kept; 0: no limit
    int64_t queue_length_ms = 30'000;  // how far a viewer may lag before it jumps to a later keyframe
    int64_t merge_ms = 350;            // mw_latency: a viewer's bytes are sent this often; 0: with every video frame
    int64_t audio_wait_ms = 60;        // with every video frame: how long audio waits to be sent with one
    int64_t send_min_interval_ms = 0;  // minimum time between two sends to a viewer
    bool no_delay = false;             // TCP_NODELAY on viewers
    TimeJitter time_jitter = TimeJitter::kFull;
    bool atc = false;                     // the publisher's absolute times are kept
    bool atc_auto = false;                // the same when the publisher requests it
    bool mix_correct = false;             // audio and video are sorted by dts
    bool reduce_sequence_header = false;  // a repeated, equal sequence header is not sent on
    int64_t audio_cache_ms = 0;           // fast_cache: how much of an audio-only stream a new viewer gets at once
    int64_t send_timeout_ms = 30'000;     // a viewer that accepts no byte for so long is closed
    int64_t rejoin_timeout_ms = 30'000;   // how long viewers wait for a publisher that left
    size_t memory_limit = 256 << 20;      // stream_memory: bytes that a stream may hold in total
};

LiveOptions live_options(const config::Vhost& vhost);

using config::StandbyMode;

// Whether and how a publisher waits while another one has the name.
struct StandbyOptions {
    StandbyMode mode = StandbyMode::kOff;
    int64_t timeout_ms = 2'000;  // without a frame, until the active publisher is frozen
    size_t max = 4;              // waiting publishers of one stream

    bool enabled() const { return mode != StandbyMode::kOff; }
};

StandbyOptions standby_options(const config::Vhost& vhost);

}  // namespace live
