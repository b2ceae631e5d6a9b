#include "service/rtc/play/player_layers.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "service/rtc/play/player.h"

namespace service::rtc {

namespace {

// Two frames of one timestamp would be one: the next one is at least 10 ms later.
constexpr uint32_t kLeastStep = 900;

}  // namespace

PlayerLayers::Feed::Feed(PlayerLayers& to, live::RtpLane& from) : layers(to), lane(from) {
    cursor.restart(lane.ring(), true);
    lane.join(*this, live::RtpLane::Wants::kConvert);  // as a player it is one of the stream's lane
}

PlayerLayers::Feed::~Feed() { lane.leave(*this, live::RtpLane::Wants::kConvert); }

void PlayerLayers::Feed::prefetch_needs() const { layers.player_.prefetch_needs(); }

SendTrack& PlayerLayers::video() const { return player_.tracks_[static_cast<size_t>(player_.video_)]; }

void PlayerLayers::leave() {
    if (active_) {
        // The stream's lane has other packets under the numbers of a layer's.
        video().restart();
        video().set_timestamp_add(0);
    }
    probe_.reset();
    pace_.reset();
    next_.reset();
    active_.reset();
    target_ = nullptr;
    is_new_ = false;
}

const live::RtpLayer* PlayerLayers::active_layer() const {
    const live::RtpLayers* layers = player_.lane_.layers();
    for (size_t i = 0; layers && i < layers->all().size(); ++i)
        if (layers->all()[i].lane.get() == lane()) return &layers->all()[i];
    return nullptr;
}

std::string_view PlayerLayers::rid() const {
    const live::RtpLayer* layer = active_layer();
    return layer ? std::string_view(layer->rid) : std::string_view();
}

// ---- Its packets

void PlayerLayers::change_to(const live::RtpLayer* layer, int64_t now_ms) {
    target_ = layer;
    next_.reset();
    live::RtpLane& stream = player_.lane_;
    if (active_ && player_.cursor_.has_video()) player_.cursor_.stop_video();  // it was to return to the stream
    if (!layer && active_) {
        player_.cursor_.resume_video(stream.ring());
        stream.request_keyframe(now_ms);
    }
    if (!layer || (active_ && &active_->lane == layer->lane.get())) return;
    next_ = std::make_unique<Feed>(*this, *layer->lane);
    layer->lane->request_keyframe(now_ms);
    // Where frames were sent, those before the change would only be decoded and discarded.
    if (video().begun()) return (void)next_->cursor.wait_for_keyframe(layer->lane->ring());
    activate_next();
    is_new_ = true;
}

bool PlayerLayers::send(Feed& feed, int64_t now_us) {
    const live::RtpRing& ring = feed.lane.ring();
    if (const MediaSession::Room room = player_.session_.room(); room != MediaSession::Room::kNow) {
        apply(feed, feed.cursor.skip_stale(ring, now_us), now_us / 1000);
        return room == MediaSession::Room::kSoon;
    }
    if (!feed.cursor.is_steady(ring)) apply(feed, feed.cursor.update(ring, Player::kMaxBacklogBytes), now_us / 1000);
    if (&feed != active_.get()) return false;
    SendTrack& track = video();
    int left = Player::kPacketsPerPass;
    for (; feed.cursor.position() < ring.end() && left > 0; feed.cursor.advance()) {
        if (pace_ && !pace_->credit.may_send()) return false;
        const live::RtpPacket& packet = ring.at(feed.cursor.position());
        const uint64_t number = track.to_viewer_sequence(packet.sequence);
        if (number == 0 || !feed.cursor.is_wanted(media::Kind::kVideo)) continue;
        player_.session_.send_rtp(track.header(packet, number), {}, packet.payload, number);
        if (pace_) pace_->credit.spend(packet.payload.size());
        ++player_.counters_.packets;
        --left;
    }
    if (feed.cursor.position() < ring.end()) return true;
    feed.cursor.catch_up();
    return false;
}

void PlayerLayers::apply(Feed& feed, const RtpCursor::Change& change, int64_t now_ms) {
    using Video = RtpCursor::Change::Video;
    if (change.video == Video::kBegins && (&feed == next_.get() || is_new_)) take_over(feed, change.first_sequence);
    if (&feed == active_.get()) {
        if (change.has_jumped) ++player_.counters_.jumps;
        if (change.video == Video::kStops) video().stop();
        if (change.video == Video::kBegins) video().begin_at(change.first_sequence);
    }
    if (change.wants_keyframe || change.wants_start) feed.lane.request_keyframe(now_ms);
}

void PlayerLayers::activate_next() {
    if (!active_) player_.stop_stream_video();
    pace_.reset();
    active_ = std::move(next_);
    active_->counted.emplace(&RtcStats::on_layer);
}

// The feed's video is sent from that packet on.
void PlayerLayers::take_over(Feed& feed, uint64_t first_sequence) {
    const auto newest = newest_timestamp();
    const live::RtpLane &stream = player_.lane_, &from = feed.lane;
    const uint32_t timestamp = from.ring().find(0, first_sequence)->timestamp;
    const live::RtpClock& theirs = stream.clock(static_cast<size_t>(player_.lane_track_of(video())));
    const live::RtpClock& ours = from.clock(0);
    uint32_t add = 0;
    if (theirs.known && ours.known)
        add = static_cast<uint32_t>(theirs.at(ours.moment(from.ticks(0, timestamp)))) - timestamp;
    if (&feed == next_.get()) activate_next();
    is_new_ = false;
    if (is_lowered_) begin_pacing(runtime::now_us());
    video().restart();
    continue_at(timestamp, add, newest);
    // Another one may be wanted by now.
    if (const live::RtpLayer* layer = active_layer())
        base::log::trace("rtc-play: layer {}, {}x{}", layer->rid, layer->width, layer->height);
}

void PlayerLayers::return_to_stream(const live::RtpPacket& first) {
    const auto newest = newest_timestamp();
    active_.reset();
    probe_.reset();
    pace_.reset();
    is_new_ = false;
    video().restart();
    continue_at(first.timestamp, 0, newest);
    base::log::trace("rtc-play: the stream's own layer again");
}

// What the viewer was sent last, as it has seen it.
std::optional<uint32_t> PlayerLayers::newest_timestamp() const {
    const live::RtpRing& ring = active_ ? active_->lane.ring() : player_.lane_.ring();
    uint64_t at = active_ ? active_->cursor.position() : player_.stream_video_position();
    const int track = active_ ? 0 : player_.lane_track_of(video());
    if (video().packets() == 0 || is_new_) return std::nullopt;
    while (at > ring.begin())
        if (const live::RtpPacket& packet = ring.at(--at); packet.track == track)
            return packet.timestamp + video().timestamp_add();
    return std::nullopt;
}

void PlayerLayers::continue_at(uint32_t timestamp, uint32_t add, std::optional<uint32_t> newest) {
    if (newest && static_cast<int32_t>(timestamp + add - *newest) < static_cast<int32_t>(kLeastStep))
        add = *newest + kLeastStep - timestamp;
    video().set_timestamp_add(add);
}

void PlayerLayers::restart(Feed& feed) {
    const auto change = feed.cursor.wait_for_keyframe(feed.lane.ring());
    if (&feed == active_.get() && change.video == RtpCursor::Change::Video::kStops) video().stop();
}

void PlayerLayers::jump(int64_t now_ms) { apply(*active_, active_->cursor.jump(active_->lane.ring()), now_ms); }

// ---- Pacing

// Somewhat faster than the layer comes: its keyframe, and what is retransmitted, have to catch up.
uint32_t PlayerLayers::paced_kbps() const {
    const live::RtpLayer* layer = active_layer();
    return std::max(Bandwidth::kLeastKbps, layer ? layer->kbps / 4 * 5 : 0);
}

void PlayerLayers::begin_pacing(int64_t now_us) {
    pace_ = std::make_unique<Pace>(*this, now_us);
    pace_->set_after(kPaceEveryMs);
}

void PlayerLayers::send_paced() {
    const int64_t now_us = runtime::now_us();
    pace_->credit.refill(paced_kbps(), now_us);
    (void)send(*active_, now_us);
    const bool has_caught_up = active_->cursor.position() >= active_->lane.ring().end();
    const bool is_over = has_caught_up && now_us / 1000 - pace_->began_ms >= kPaceMs;
    if (is_over && !player_.bandwidth_.has_queue()) return pace_.reset();
    pace_->set_after(kPaceEveryMs);
}

}  // namespace service::rtc
