#include "service/rtc/play/player_layers.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "service/rtc/play/player.h"

namespace service::rtc {

namespace {

// Two frames of one timestamp would be one: the next one is at least 10 ms later.
constexpr uint32_t kLeastStep = 900;

bool is_larger(const live::RtpLayer& a, const live::RtpLayer& b) {
    return std::pair(a.pixels(), a.kbps) > std::pair(b.pixels(), b.kbps);
}

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

// ---- Which layer

bool PlayerLayers::fits(const live::RtpLayer& layer) const {
    return !player_.bandwidth_.is_short() || layer.kbps + layer.kbps / 8 + kAudioKbps <= player_.bandwidth_.kbps();
}

// Of the largest layer that the wish permits.
uint64_t PlayerLayers::max_pixels(const live::RtpLayers& layers) const {
    uint64_t most = UINT64_MAX;
    for (const live::RtpLayer& layer : layers.all()) {
        if (layer.pixels() > 0 && layer.rid == wish_.rid) most = std::min(most, layer.pixels());
        if (wish_.max_height > 0 && layer.height > wish_.max_height) most = std::min(most, layer.pixels() - 1);
    }
    return most;
}

// Null: the one that the stream's lane carries.
const live::RtpLayer* PlayerLayers::best(const live::RtpLayers& layers) const {
    const uint64_t most = max_pixels(layers);
    const live::RtpLayer *best = nullptr, *least = nullptr;
    bool is_limited = false;
    for (const live::RtpLayer& layer : layers.all()) {
        is_limited |= layer.pixels() > most;
        if (!layer.is_sent || layer.pixels() == 0 || layer.pixels() > most) continue;
        if (!least || is_larger(*least, layer)) least = &layer;
        if (fits(layer) && (!best || is_larger(layer, *best))) best = &layer;
    }
    // Where none fits, the stream is measured out.
    if (!best) return is_limited ? least : nullptr;
    const live::RtpLayer* carried = layers.carried();
    return is_limited || (carried && is_larger(*carried, *best)) ? best : nullptr;
}

void PlayerLayers::choose(int64_t now_ms) {
    const live::RtpLayers* layers = player_.lane_.layers();
    if (!layers || player_.video_ < 0) return;
    // Another video track of the stream may be the one that was negotiated.
    if (player_.lane_track_of(video()) != player_.lane_.track_of(media::Kind::kVideo)) return;
    const live::RtpLayer* wanted = best(*layers);
    if (wanted == target_) {
        // The probe has shown that the link takes no more.
        if (probe_) wait_ms_ = std::min(2 * wait_ms_, kMaxWaitMs), changed_ms_ = probed_ms_ = now_ms;
        return probe_.reset();
    }
    const live::RtpLayer *from = target_ ? target_ : layers->carried(), *to = wanted ? wanted : layers->carried();
    const bool is_raised = from && to && is_larger(*to, *from);
    if (is_raised && !may_raise(*from, *to, now_ms)) return;
    if (!is_raised && std::exchange(probe_, nullptr)) probed_ms_ = now_ms;
    // The estimate is lower for the probe's sake; the link took what it took before.
    if (!is_raised && from && from->is_sent && now_ms - probed_ms_ < kProbeRestMs) return;
    probe_.reset();
    is_lowered_ = !is_raised && player_.bandwidth_.is_short();
    if (is_lowered_)
        wait_ms_ = now_ms - raised_ms_ < 2 * kFirstWaitMs ? std::min(2 * wait_ms_, kMaxWaitMs) : kFirstWaitMs;
    if (is_raised) raised_ms_ = now_ms;
    changed_ms_ = now_ms;
    change_to(wanted, now_ms);
}

bool PlayerLayers::may_raise(const live::RtpLayer& from, const live::RtpLayer& to, int64_t now_ms) {
    if (!from.is_sent) return true;  // anything is better
    if (now_ms - changed_ms_ < wait_ms_) return false;
    if (!is_lowered_ || !active_ || !video().has_rtx() || !video().begun()) return true;
    if (!probe_) {
        probe_ = std::make_unique<Probe>(*this, to.kbps - std::min(to.kbps, from.kbps), now_ms);
        probe_->set_after(kProbeEveryMs);
    }
    return now_ms - probe_->began_ms >= kProbeMs + kProbeWaitMs;
}

// Of the newest packets, again and again.
void PlayerLayers::send_probe() {
    probe_->sent_ms += kProbeEveryMs;
    const uint64_t due = static_cast<uint64_t>(probe_->sent_ms) * probe_->kbps / 8;
    const live::RtpRing& ring = active_->lane.ring();
    SendTrack& track = video();
    uint64_t at = active_->cursor.position();
    for (int left = Player::kPacketsPerPass; probe_->sent < due && left > 0 && at > ring.begin(); --left) {
        const live::RtpPacket& packet = ring.at(--at);
        const uint64_t number = track.to_viewer_sequence(packet.sequence);
        if (number == 0) break;
        const SendTrack::Retransmission again = track.retransmission(packet, number);
        uint8_t first[2];
        base::put_u16(first, static_cast<uint32_t>(number & 0xffff));
        player_.session_.send_rtp(again.header, first, packet.payload, again.index);
        probe_->sent += packet.payload.size();
    }
    if (probe_->sent_ms < kProbeMs) probe_->set_after(kProbeEveryMs);
}

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

// ---- Its packets

bool PlayerLayers::send(Feed& feed, int64_t now_us) {
    const live::RtpRing& ring = feed.lane.ring();
    if (const MediaSession::Room room = player_.session_.room(); room != MediaSession::Room::kNow) {
        apply(feed, feed.cursor.skip_stale(ring, now_us), now_us / 1000);
        return room == MediaSession::Room::kSoon;
    }
    if (!feed.cursor.is_steady(ring)) apply(feed, feed.cursor.update(ring, Player::kMaxBacklogBytes), now_us / 1000);
    if (&feed != active_.get()) return false;
    SendTrack& track = video();
    for (int left = Player::kPacketsPerPass; feed.cursor.position() < ring.end() && left > 0; feed.cursor.advance()) {
        const live::RtpPacket& packet = ring.at(feed.cursor.position());
        const uint64_t number = track.to_viewer_sequence(packet.sequence);
        if (number == 0 || !feed.cursor.is_wanted(media::Kind::kVideo)) continue;
        player_.session_.send_rtp(track.header(packet, number), {}, packet.payload, number);
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

}  // namespace service::rtc
