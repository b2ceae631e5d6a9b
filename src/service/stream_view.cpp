#include "service/stream_view.h"

#include <algorithm>

#include "live/fanout/live_log.h"
#include "live/rtp/rtp_lane.h"
#include "protocol/flv/audio_format.h"
#include "runtime/loop/clock.h"

namespace service {

namespace {

// For codecs whose sequence header does not contain everything (VP9).
const media::Frame* keyframe_of(const live::Stream& stream) {
    for (const media::Frame& frame : stream.gop())
        if (frame.kind == media::Kind::kVideo && frame.track == 0 && frame.keyframe && !frame.sequence_header)
            return &frame;
    return nullptr;
}

// The track as sent by a WebRTC publisher, whatever it is converted to; null: not published by WebRTC.
const live::RtpTrack* rtp_track(const live::Stream& stream, media::Kind kind) {
    const live::RtpLane* lane = stream.rtp_lane_if_any();
    return lane ? lane->published_track(kind) : nullptr;
}

std::optional<media::VideoInfo> video_of(const live::Stream& stream) {
    media::VideoInfo info;
    if (const live::RtpTrack* track = rtp_track(stream, media::Kind::kVideo)) {
        info = stream.rtp_lane_if_any()->video_info();
        info.codec = track->codec;
        return info;
    }
    const media::Track* track = stream.tracks()->video();
    if (!track) return std::nullopt;
    if (track->header)
        if (auto read = media::video_info(*track->header)) info = *std::move(read);
    if (info.width == 0) {
        const media::Frame* frame = keyframe_of(stream);
        auto read = frame ? media::video_info(*frame) : base::Result<media::VideoInfo>(media::VideoInfo());
        if (read && read->width > 0) {
            info.width = read->width;
            info.height = read->height;
            if (info.profile.empty()) info.profile = read->profile;
            if (info.level.empty()) info.level = read->level;
        }
    }
    info.codec = track->codec;
    return info;
}

std::optional<media::AudioInfo> audio_of(const live::Stream& stream) {
    media::AudioInfo info;
    if (const live::RtpTrack* track = rtp_track(stream, media::Kind::kAudio)) {
        info.codec = track->codec;
        info.sample_rate = static_cast<int>(track->clock_rate);
        info.channels = track->channels;
        return info;
    }
    const media::Track* track = stream.tracks()->audio();
    if (!track) return std::nullopt;
    if (track->header)
        if (auto read = flv::audio_info(*track->header)) info = *std::move(read);
    info.codec = track->codec;
    return info;
}

std::vector<TrackView> tracks_of(const media::TrackSet& set) {
    std::vector<TrackView> tracks;
    if (set.count(media::Kind::kVideo) < 2 && set.count(media::Kind::kAudio) < 2) return tracks;
    for (const media::Track& track : set.tracks)
        tracks.push_back({track.kind, track.index, track.codec, track.language, track.label});
    return tracks;
}

void add_health(StreamView& view, const live::Health& health, int64_t now_ms) {
    if (const auto recent = health.recent(); recent.ms() > 0) {
        view.bitrate = 8e3 * static_cast<double>(recent.bytes) / static_cast<double>(recent.ms());
        view.frame_rate = 1e3 * recent.video_frames / static_cast<double>(recent.ms());
    }
    view.gop_ms = health.last_gop_ms();
    if (health.keyframe_at_ms() > 0) view.keyframe_age_ms = now_ms - health.keyframe_at_ms();
    if (health.newest().has_both())
        view.audio_ahead_ms = media::to_ms(health.newest().audio_dts - health.newest().video_dts);
}

void add_standbys(StreamView& view, const live::Stream& stream, int64_t now_ms) {
    const live::StandbyQueue* queue = stream.standby();
    if (!queue) return;
    for (const live::StandbyPublisher& publisher : queue->publishers()) {
        const live::PublisherFacts facts = publisher.owner->facts();
        StandbyView& standby = view.standbys.emplace_back();
        standby.id = facts.session_id;
        standby.ip = facts.ip;
        standby.priority = publisher.priority;
        standby.sends = queue->is_sending(publisher, now_ms);
        standby.waiting_ms = now_ms - publisher.since_ms;
        if (publisher.keyframe_ms != 0) standby.keyframe_age_ms = now_ms - publisher.keyframe_ms;
    }
}

void add_live(StreamView& view, const live::Stream& stream, int64_t now_ms) {
    view.published = stream.published();
    view.players = stream.players();
    view.is_copy = stream.published() && stream.publisher()->is_copy();
    view.clients = clients_of(stream);
    view.counters = stream.figures();
    view.memory = stream.memory();
    view.memory_limit = stream.options().memory_limit;
    view.video = video_of(stream);
    view.audio = audio_of(stream);
    view.tracks = tracks_of(*stream.tracks());
    if (stream.publisher()) view.dropped_tracks = stream.publisher()->dropped_tracks();
    add_health(view, stream.health(), now_ms);
    add_standbys(view, stream, now_ms);
}

// The session that publishes; null: there is none. The account knows the one that came last, which may wait, or may
// have waited, and none that publishes beside its own stream.
const net::Session* publisher_of(const net::StreamAccount* account, const live::Stream* stream,
                                 const net::SessionTable& sessions) {
    const net::Session* known = account ? account->publisher() : nullptr;
    if ((!known || (stream && stream->standby())) && stream && stream->publisher())
        if (const net::Session* session = sessions.find(stream->publisher()->facts().session_id)) return session;
    return known;
}

}  // namespace

size_t clients_of(const live::Stream& stream) {
    const bool has_publisher = stream.published() && !stream.publisher()->is_copy();
    return stream.players() + (has_publisher ? 1 : 0);
}

StreamView view_of(const live::StreamKey& key, const live::Registry& registry, const net::SessionTable& sessions) {
    const int64_t now_ms = runtime::now_ms();
    StreamView view{.key = key};
    const base::Ref<live::Stream> stream = registry.find(key);
    if (stream) add_live(view, *stream, now_ms);
    const net::StreamAccount* account = sessions.accounts().find(key);
    if (account) {
        view.id = account->id();
        view.vhost_id = account->vhost().id();
        view.traffic = account->traffic();
        view.rates = account->rates(now_ms);
    } else {
        view.id = net::stream_id(key);
        view.vhost_id = net::stable_id(key.vhost);
    }
    if (const net::Session* publisher = publisher_of(account, stream.get(), sessions)) {
        view.tc_url = publisher->details().tc_url;
        view.publisher = publisher->id();
    }
    if (view.tc_url.empty()) view.tc_url = "rtmp://" + key.vhost + "/" + key.app;
    return view;
}

bool is_standby(const net::Session& session, const live::Registry& registry) {
    const net::StreamAccount* account = session.stream_account();
    if (registry.standbys() == 0 || !account || !net::publishes(session.type())) return false;
    const base::Ref<live::Stream> stream = registry.find(account->key());
    return stream && stream->standby() &&
           std::ranges::any_of(stream->standby()->publishers(), [&](const live::StandbyPublisher& publisher) {
               return publisher.owner->facts().session_id == session.id();
           });
}

int64_t slowest_viewer_ms(live::Stream& stream) {
    int64_t lag_ms = 0;
    stream.for_each_log([&](live::LiveLog& log) {
        const uint64_t slowest = log.audience().slowest_position();
        if (slowest != UINT64_MAX) lag_ms = std::max(lag_ms, log.packets().ms_behind(slowest));
    });
    return lag_ms;
}

}  // namespace service
