// Coroutines that wait for a Stream: it wakes them, and each checks whether what it waits for is there.

#include <optional>

#include "live/hub/leases.h"
#include "live/hub/stream.h"
#include "media/codec.h"
#include "runtime/socket/byte_stream.h"

namespace live {

using base::Code;
using base::Result;
using runtime::Deadline;

namespace {

// How long a track may come after the other one.
constexpr int64_t kSettleMs = 700;
// A publisher that has sent so many frames has sent the headers of all its tracks.
constexpr uint64_t kSettledFrames = 30;

bool is_known(const media::Track* track) {
    return track && (track->config() || !media::codec_info(track->codec).has_sequence_header);
}

}  // namespace

bool Stream::has_awaited(Awaited what, Deadline& settled) const {
    if (!published() || what == Awaited::kPublished) return published();
    const bool video = is_known(tracks_->video()), audio = is_known(tracks_->audio());
    if (!video && !audio) return false;
    if (settled.is_never()) settled = Deadline::in_ms(kSettleMs);
    const uint64_t frames = counters_.video_frames + counters_.audio_frames - frames_before_;
    return (video && audio) || frames >= kSettledFrames || settled.passed();
}

Result<void> Stream::await(Awaited what, Deadline deadline, const AwaitOptions& options) {
    const base::Ref<Stream> keep(this);
    const runtime::EndWatch end(options.client);
    std::optional<FramesLease> frames;
    if (what == Awaited::kTracks) frames.emplace(keep);
    auto settled = Deadline::never();
    while (!has_awaited(what, settled)) {
        const bool is_void = options.may_wait && !options.may_wait();
        if (!published() && (is_void || deadline.passed()))
            return base::fail(base::CloseReason::kNotFound, "the stream is not published");
        if (is_void || deadline.passed())
            return base::fail(Code::kTimeout, "the stream's tracks are not known: no headers or keyframes arrive");
        auto woken = changed_.wait_next(earlier(deadline, settled));
        if (woken || woken.error().code() == Code::kTimeout) continue;
        if (!options.client || !options.client->peer_gone()) return woken;
        return std::unexpected(base::Error(Code::kCancelled, "closed by the peer, which waited for the stream")
                                   .because(base::CloseReason::kPeerClosed));
    }
    return {};
}

void Stream::add_frames_lease() {
    if (++frame_leases_ == 1) notify_demand();
}

void Stream::remove_frames_lease() {
    if (--frame_leases_ == 0) notify_demand();
}

}  // namespace live
