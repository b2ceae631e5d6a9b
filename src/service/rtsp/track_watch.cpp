#include "service/rtsp/track_watch.h"

#include <algorithm>

#include "media/codec.h"

namespace service::rtsp {

namespace {

bool is_known(const media::Track* track) {
    return track && (track->config() || !media::codec_info(track->codec).has_sequence_header);
}

}  // namespace

TrackWatch::TrackWatch(base::Ref<live::Stream> stream) : stream_(std::move(stream)) { stream_->subscribe(*this); }

TrackWatch::~TrackWatch() { stream_->unsubscribe(*this); }

void TrackWatch::on_tracks(const base::Ref<media::TrackSet>& tracks) {
    tracks_ = tracks;
    changed_.pulse();
}

void TrackWatch::on_unpublish() { changed_.pulse(); }

base::Result<base::Ref<media::TrackSet>> TrackWatch::wait() {
    const auto limit = runtime::Deadline::in_ms(kLimitMs);
    auto until = runtime::Deadline::never();
    bool any = false;
    while (true) {
        if (!stream_->published()) return base::fail(base::CloseReason::kNotFound, "the stream is not published");
        const bool video = tracks_ && is_known(tracks_->video()), audio = tracks_ && is_known(tracks_->audio());
        const live::StreamCounters& counted = stream_->counters();
        const bool settled = counted.video_frames >= kSettledFrames || counted.audio_frames >= 2 * kSettledFrames;
        if ((video && audio) || ((video || audio) && (settled || until.passed()))) return tracks_;
        if ((video || audio) && !any) {
            any = true;
            until = runtime::Deadline::in_ms(kSettleMs);
        }
        if (limit.passed())
            return base::fail(base::Code::kTimeout,
                              "the stream's tracks are not known: no headers or keyframes arrive");
        auto woken = changed_.wait_next(earlier(limit, until));
        if (!woken && woken.error().code() != base::Code::kTimeout) return std::unexpected(std::move(woken.error()));
    }
}

}  // namespace service::rtsp
