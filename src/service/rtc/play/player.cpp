#include "service/rtc/play/player.h"

#include <algorithm>

#include "base/log.h"
#include "base/prefetch.h"
#include "runtime/loop/clock.h"
#include "service/rtc/stats.h"

namespace service::rtc {

Player::Player(MediaParts parts, base::Ref<live::Stream> stream, const std::vector<SendFormat>& formats,
               uint16_t first_sequence)
    : session_(parts.session),
      lane_(stream->rtp_lane()),
      codec_log_(parts.codec_log),
      snapshot_(std::move(parts.snapshot)),
      stream_(std::move(stream)) {
    CHECK(formats.size() <= kMaxTracks);
    tracks_.reserve(formats.size());
    for (const SendFormat& format : formats) tracks_.emplace_back(format, first_sequence++);
    track_index_.fill(-1);
}

Player::~Player() {
    if (joined_) lane_.leave(*this, live::RtpLane::Wants::kPlay);
}

void Player::on_connected(int64_t now_ms) {
    next_report_ms_ = now_ms;
    joined_ = true;
    match_tracks();
    // A bridge may begin within this call and set the lane's tracks.
    lane_.join(*this, live::RtpLane::Wants::kPlay);
    if (video_ >= 0) lane_.request_keyframe(now_ms);
}

void Player::on_closed() {
    if (!joined_) return;
    send_bye();
    log_counters();
    joined_ = false;
    lane_.leave(*this, live::RtpLane::Wants::kPlay);
}

// Selects the lane's tracks for this viewer: those whose codec was negotiated with it.
void Player::match_tracks() {
    track_index_.fill(-1);
    video_ = -1;
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
    cursor_ = lane_.ring().end();
    keyframe_from_ = 0;
    waits_for_keyframe_ = video_ >= 0;
    catching_up_ = false;
    from_.fill(0);
}

void Player::on_tracks() {
    match_tracks();
    reports_ = 0;  // audio and video may be synchronized differently now
    if (video_ >= 0) lane_.request_keyframe(runtime::now_ms());
}

void Player::on_stream_end() { session_.end("the stream ended", base::CloseReason::kStreamEnded); }

void Player::prefetch_needs() const {
    base::prefetch(this, 2 * base::kCacheLineBytes);
    base::prefetch(tracks_.data(), kMaxTracks * sizeof(SendTrack));  // whether there are two or one
    session_.prefetch_send();
}

bool Player::on_packets(int64_t now_us) {
    const live::RtpRing& ring = lane_.ring();
    if (session_.congested()) {
        skip_stale(now_us);
        return false;
    }
    if (waits_for_keyframe_ || catching_up_) check_for_keyframe(now_us / 1000);
    if (cursor_ < ring.begin()) {
        cursor_ = ring.begin();
        jump(now_us / 1000);
    }
    const uint64_t end = ring.end();
    for (int left = kPacketsPerPass; cursor_ < end && left > 0; ++cursor_) left -= forward(ring.at(cursor_));
    if (cursor_ < end) return true;
    catching_up_ = false;
    return false;
}

bool Player::forward(const live::RtpPacket& packet) {
    SendTrack* track = track_of(packet.track);
    if (!track || cursor_ < from_[static_cast<size_t>(track_index_[packet.track])]) return false;
    // Video begins only at keyframes, see begin_at_keyframe().
    if (!track->begun() && track->kind() == media::Kind::kAudio) track->begin_at(packet.sequence);
    const uint64_t number = track->to_viewer_sequence(packet.sequence);
    if (number == 0) return false;
    const auto header = track->header(packet, number, twcc_);
    session_.send_rtp(header, {}, packet.payload, number);
    ++counters_.packets;
    return true;
}

// Nothing can be sent now. Packets that have waited too long are skipped.
void Player::skip_stale(int64_t now_us) {
    const live::RtpRing& ring = lane_.ring();
    cursor_ = std::max(cursor_, ring.begin());
    if (cursor_ >= ring.end() || now_us - ring.at(cursor_).arrival_us < kMaxCongestedUs) return;
    cursor_ = ring.end();
    jump(now_us / 1000);
}

void Player::check_for_keyframe(int64_t now_ms) {
    const live::RtpRing& ring = lane_.ring();
    auto keyframe = ring.newest_keyframe();
    if (waits_for_keyframe_) {
        if (!keyframe || *keyframe < keyframe_from_) return;
        const size_t max_backlog = lane_.published_by_rtp() ? kMaxBacklogOnRequest : kMaxBacklogBytes;
        size_t backlog = 0;
        for (uint64_t i = *keyframe; i < ring.end() && backlog <= max_backlog; ++i)
            backlog += ring.at(i).payload.size();
        if (backlog > max_backlog) {
            keyframe_from_ = *keyframe + 1;
            lane_.request_keyframe(now_ms);
            return;
        }
        return begin_at_keyframe(*keyframe);
    }
    // The newest keyframe is far ahead: the frames before it would only be decoded and discarded.
    if (!keyframe || *keyframe < cursor_ + kMaxBehind) return;
    ++counters_.jumps;
    ++rtc_stats().jumps;
    begin_at_keyframe(*keyframe);
}

void Player::begin_at_keyframe(uint64_t position) {
    const live::RtpRing& ring = lane_.ring();
    const live::RtpPacket& first = ring.at(position);
    // Packets of the keyframe may have been reordered.
    uint64_t lowest = first.sequence;
    for (uint64_t i = position; i < std::min(ring.end(), position + kMaxBehind); ++i) {
        const live::RtpPacket& packet = ring.at(i);
        if (packet.track == first.track && packet.timestamp == first.timestamp)
            lowest = std::min(lowest, packet.sequence);
    }
    tracks_[static_cast<size_t>(video_)].begin_at(lowest);
    // The other track continues at its position: old audio is of no use.
    for (size_t index = 0; index < tracks_.size(); ++index)
        from_[index] = static_cast<int>(index) == video_ ? position : std::max(from_[index], cursor_);
    cursor_ = std::min(cursor_, position);
    waits_for_keyframe_ = false;
    catching_up_ = true;
}

// The video continues at the next keyframe that arrives.
void Player::jump(int64_t now_ms) {
    if (video_ < 0 || waits_for_keyframe_) return;
    ++counters_.jumps;
    ++rtc_stats().jumps;
    wait_for_next_keyframe();
    lane_.request_keyframe(now_ms);
}

void Player::wait_for_next_keyframe() {
    tracks_[static_cast<size_t>(video_)].stop();
    waits_for_keyframe_ = true;
    keyframe_from_ = lane_.ring().end();
}

// The viewer sees no gap: its sequence numbers continue at the keyframe. The publisher is asked for one.
void Player::on_track_restart(size_t lane_track) {
    if (video_ >= 0 && track_index_[lane_track] == video_) wait_for_next_keyframe();
}

int Player::lane_track_of(const SendTrack& track) const {
    const auto index = static_cast<int8_t>(&track - tracks_.data());
    const auto at = std::ranges::find(track_index_, index);
    return at == track_index_.end() ? -1 : static_cast<int>(at - track_index_.begin());
}

void Player::log_counters() const {
    const PlayerCounters& c = counters_;
    base::log::trace(
        "rtc-play: {} packets; of {} requested by NACK {} sent, {} not known, {} repeated, {} beyond the budget; {} "
        "jumps, "
        "{} keyframes requested, {} of 256 lost, REMB {} kbit/s, {} malformed reports",
        c.packets, c.nacks, c.retransmitted, c.nacks_unknown, c.nacks_repeated, c.nacks_refused, c.jumps,
        c.keyframe_requests, c.fraction_lost, c.remb_kbps, c.bad_rtcp);
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
