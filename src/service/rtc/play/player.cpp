#include "service/rtc/play/player.h"

#include <algorithm>

#include "base/log.h"
#include "base/prefetch.h"
#include "runtime/loop/clock.h"
#include "service/rtc/config.h"
#include "service/rtc/stats.h"

namespace service::rtc {

Player::Player(MediaParts parts, base::Ref<live::Stream> stream, const std::vector<SendFormat>& formats,
               uint16_t first_sequence)
    : session_(parts.session),
      lane_(stream->rtp_lane()),
      codec_log_(parts.codec_log),
      snapshot_(std::move(parts.snapshot)),
      stream_(std::move(stream)),
      playout_delay_(parts.vhost.get<VhostConfig>().playout_delay) {
    CHECK(formats.size() <= kMaxTracks);
    tracks_.reserve(formats.size());
    for (const SendFormat& format : formats) tracks_.emplace_back(format, first_sequence++);
    track_index_.fill(-1);
    if (!parts.layer.empty()) layers_ = std::make_unique<PlayerLayers>(*this, std::move(parts.layer));
}

Player::~Player() {
    layers_.reset();
    if (joined_) lane_.leave(*this, live::RtpLane::Wants::kPlay);
}

void Player::on_connected(int64_t now_ms) {
    next_report_ms_ = now_ms;
    joined_ = true;
    connected_us_ = now_ms * 1000;
    frames_before_ = stream_->frames();
    match_tracks();
    start_by_us_ = now_ms * 1000 + kStartUs;
    // A bridge may begin within this call and set the lane's tracks.
    lane_.join(*this, live::RtpLane::Wants::kPlay);
    if (layers_) layers_->choose(now_ms);
}

void Player::on_closed() {
    if (!joined_) return;
    send_bye();
    log_counters();
    layers_.reset();
    joined_ = false;
    lane_.leave(*this, live::RtpLane::Wants::kPlay);
}

// Selects the lane's tracks for this viewer: those whose codec was negotiated with it.
void Player::match_tracks() {
    track_index_.fill(-1);
    video_ = -1;
    end_pacing();
    const auto& lane_tracks = lane_.tracks();
    for (size_t index = 0; index < tracks_.size(); ++index) {
        tracks_[index].restart();
        for (size_t i = 0; i < lane_tracks.size(); ++i) {
            if (lane_tracks[i].kind != tracks_[index].kind() || lane_tracks[i].codec != tracks_[index].codec())
                continue;
            track_index_[i] = static_cast<int8_t>(index);
            if (lane_tracks[i].kind == media::Kind::kVideo) video_ = static_cast<int8_t>(index);
            break;
        }
        if (!lane_tracks.empty() && std::ranges::find(track_index_, static_cast<int8_t>(index)) == track_index_.end())
            runtime::warn_some(codec_log_, "rtc-play: {} was negotiated, but the stream has no such track: not sent",
                               media::codec_info(tracks_[index].codec()).name);
    }
    cursor_.restart(lane_.ring(), video_ >= 0);
}

void Player::on_tracks() {
    if (layers_) layers_->leave();
    match_tracks();
    reports_ = 0;  // audio and video may be synchronized differently now
    start_by_us_ = runtime::now_us() + kStartUs;
}

void Player::on_unpublish() {
    if (layers_) layers_->leave();
}

void Player::on_stream_end() { session_.end("the stream ended", base::CloseReason::kStreamEnded); }

void Player::prefetch_needs() const {
    base::prefetch(this, 2 * base::kCacheLineBytes);
    base::prefetch(tracks_.data(), kMaxTracks * sizeof(SendTrack));  // whether there are two or one
    session_.prefetch_send();
}

bool Player::on_packets(int64_t now_us) {
    const live::RtpRing& ring = lane_.ring();
    if (const MediaSession::Room room = session_.room(); room != MediaSession::Room::kNow) {
        apply(cursor_.skip_stale(ring, now_us), now_us / 1000);
        return room == MediaSession::Room::kSoon;
    }
    if (paced_) [[unlikely]] {
        send_audio(now_us);
        return false;
    }
    if (!cursor_.is_steady(ring)) begin_or_skip(now_us);
    const uint64_t end = ring.end();
    for (int left = kPacketsPerPass; cursor_.position() < end && left > 0; cursor_.advance())
        left -= forward(ring.at(cursor_.position()));
    if (reports_due_) [[unlikely]]
        send_due_reports();
    if (first_ms_ < 0 && counters_.packets > 0) [[unlikely]]
        first_ms_ = std::max<int64_t>(0, now_us - connected_us_) / 1000;
    if (cursor_.position() < end) return true;
    cursor_.catch_up();
    return false;
}

void Player::begin_or_skip(int64_t now_us) {
    const live::RtpRing& ring = lane_.ring();
    const bool may_wait = now_us < start_by_us_ && lane_.published_by_rtp();
    const auto change = cursor_.update(ring, may_wait ? kMaxBacklogOnRequest : kMaxBacklogBytes);
    apply(change, now_us / 1000);
    if (!change.wants_start || lane_.request_start(now_us / 1000)) return;
    start_by_us_ = 0;
    apply(cursor_.update(ring, kMaxBacklogBytes), now_us / 1000);
}

bool Player::forward(const live::RtpPacket& packet) {
    SendTrack* track = track_of(packet.track);
    if (!track || !cursor_.is_wanted(track->kind())) return false;
    uint64_t number = track->to_viewer_sequence(packet.sequence);
    if (number == 0) [[unlikely]] {
        // Video begins only at keyframes.
        if (track->begun() || track->kind() != media::Kind::kAudio) return false;
        track->begin_at(packet.sequence);
        number = track->to_viewer_sequence(packet.sequence);
    }
    if (track->sends_red()) [[unlikely]]
        return forward_red(*track, packet, number);
    const auto header = track->header(packet, number);
    session_.send_rtp(header, {}, packet.payload, number);
    ++counters_.packets;
    return true;
}

bool Player::forward_red(SendTrack& track, const live::RtpPacket& packet, uint64_t number) {
    const auto header = track.header(packet, number);
    session_.send_rtp(header, {}, lane_.red_payload(packet, track.plain_payload_type()), number);
    ++counters_.packets;
    return true;
}

// ---- A short link

// A smaller layer is better than the heads of GOPs.
void Player::choose_layer(int64_t now_ms) {
    if (!layers_ && bandwidth_.is_short() && lane_.layers())
        layers_ = std::make_unique<PlayerLayers>(*this, LayerWish());
    if (!layers_) return;
    if (has_layer()) bandwidth_.tick(now_ms);
    layers_->choose(now_ms);
}

void Player::stop_stream_video() {
    cursor_.stop_video();
    if (bandwidth_.is_short())
        for (SendTrack& track : tracks_) track.set_red(false);
    end_pacing();
}

void Player::begin_pacing(int64_t now_us) {
    const ShortLink link(cursor_.position(), cursor_.waits_for_keyframe(), now_us);
    // Its own position is that of the audio from now on: it has no video to stop or to begin.
    (void)cursor_.wait_for_keyframe(lane_.ring());
    paced_ = std::make_unique<Paced>(*this, link);
    paced_->set_after(kPaceMs);
    // Without them a browser takes the video that is held back for a longer way, and its estimate falls to nothing.
    for (SendTrack& track : tracks_) {
        track.set_send_times(true);
        track.set_red(false);
    }
    base::log::trace("rtc-play: the link takes {} kbit/s, less than the stream: audio and as much video are sent",
                     bandwidth_.kbps());
}

// It is never held back.
void Player::send_audio(int64_t now_us) {
    const live::RtpRing& ring = lane_.ring();
    for (cursor_.reach(ring.begin()); cursor_.position() < ring.end(); cursor_.advance()) {
        const live::RtpPacket& packet = ring.at(cursor_.position());
        SendTrack* track = track_of(packet.track);
        if (!track || track->kind() != media::Kind::kAudio) continue;
        track->stamp(now_us);
        if (forward(packet)) paced_->link.spend(packet.payload.size());
    }
    if (reports_due_) send_due_reports();
}

// What is sent of the stream is ahead of the layer that fits in the queue of a link that has no room for both. And
// publishers make keyframes of all layers at once: where the stream has a new one, that of the layer comes too.
bool Player::expects_layer(int64_t now_us) const {
    if (!layers_ || !layers_->is_changing()) return false;
    if (now_us / 1000 - layers_->changed_ms() < kLayerWaitUs / 1000) return true;
    const live::RtpRing& ring = lane_.ring();
    const auto keyframe = ring.newest_keyframe();
    return keyframe && *keyframe >= paced_->link.position() && now_us - ring.at(*keyframe).arrival_us < kLayerWaitUs;
}

void Player::send_paced(int64_t now_us) {
    const live::RtpRing& ring = lane_.ring();
    ShortLink& link = paced_->link;
    bandwidth_.tick(now_us / 1000);
    link.refill(bandwidth_.kbps(), now_us);
    if (expects_layer(now_us)) return paced_->set_after(kPaceMs);
    apply(link.update(ring, bandwidth_.kbps(), now_us), now_us / 1000);
    if (session_.room() == MediaSession::Room::kNow) {
        tracks_[static_cast<size_t>(video_)].stamp(now_us);
        for (int left = kPacketsPerPass; left > 0 && link.has_next(ring); link.advance()) {
            const live::RtpPacket& packet = ring.at(link.position());
            if (track_index_[packet.track] != video_ || !forward(packet)) continue;
            link.spend(packet.payload.size());
            --left;
        }
    }
    if (bandwidth_.is_short() || !link.has_caught_up(ring)) return paced_->set_after(kPaceMs);
    cursor_.go_on(ring);
    end_pacing();
    base::log::trace("rtc-play: the link takes the stream again");
}

void Player::end_pacing() {
    if (!paced_) return;
    paced_.reset();
    for (SendTrack& track : tracks_) track.set_send_times(false);
}

void Player::apply(const RtpCursor::Change& change, int64_t now_ms) {
    using Video = RtpCursor::Change::Video;
    if (change.has_jumped) {
        ++counters_.jumps;
        ++rtc_stats().jumps;
    }
    if (has_layer() && change.video == Video::kBegins) [[unlikely]]
        layers_->return_to_stream(
            *lane_.ring().find(static_cast<uint8_t>(lane_.track_of(media::Kind::kVideo)), change.first_sequence));
    if (change.video == Video::kStops) tracks_[static_cast<size_t>(video_)].stop();
    if (change.video == Video::kBegins) tracks_[static_cast<size_t>(video_)].begin_at(change.first_sequence);
    if (change.wants_keyframe) lane_.request_keyframe(now_ms);
}

// The viewer sees no gap: its sequence numbers continue at the keyframe. The publisher is asked for one.
void Player::on_track_restart(size_t lane_track) {
    if (video_ < 0 || track_index_[lane_track] != video_) return;
    if (has_layer()) {
        // What is sent comes from elsewhere, though it may be about to return.
        if (cursor_.has_video()) cursor_.resume_video(lane_.ring());
        return;
    }
    const auto change = paced_ ? paced_->link.wait_for_keyframe(lane_.ring()) : cursor_.wait_for_keyframe(lane_.ring());
    apply(change, runtime::now_ms());
}

int Player::lane_track_of(const SendTrack& track) const {
    const auto index = static_cast<int8_t>(&track - tracks_.data());
    const auto at = std::ranges::find(track_index_, index);
    return at == track_index_.end() ? -1 : static_cast<int>(at - track_index_.begin());
}

Player::Reading Player::reading_of(const SendTrack& track) const {
    if (has_layer() && track.kind() == media::Kind::kVideo) return {*layers_->lane(), 0};
    return {lane_, lane_track_of(track)};
}

void Player::log_counters() const {
    const PlayerCounters& c = counters_;
    base::log::trace(
        "rtc-play: {} packets; of {} requested by NACK {} sent, {} not known, {} repeated, {} beyond the budget; {} "
        "jumps, "
        "{} keyframes requested, {} of 256 lost, REMB {} kbit/s, {} malformed reports",
        c.packets, c.nacks, c.retransmitted, c.nacks_unknown, c.nacks_repeated, c.nacks_refused, c.jumps,
        c.keyframe_requests, c.fraction_lost, bandwidth_.remb_kbps(), c.bad_rtcp);
}

std::string Player::describe() const {
    std::string text;
    for (const SendTrack& track : tracks_)
        text +=
            fmt::format("{}{} {}", text.empty() ? "" : ", ", track.kind() == media::Kind::kVideo ? "video" : "audio",
                        media::codec_info(track.codec()).name);
    return text;
}

}  // namespace service::rtc
