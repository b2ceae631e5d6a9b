#include "live/messages/message_lane.h"

#include <algorithm>

#include "live/fanout/delivery.h"
#include "runtime/loop/clock.h"

namespace live {

MessageLane::MessageLane(Stream& stream, const LogKey& key, const MessageRingLimits& limits)
    : SinkGroup(stream.delivery().scheduler()), stream_(stream), key_(key), ring_(limits) {}

MessageLane::~MessageLane() = default;

void MessageLane::join(MessageSink& sink, int64_t delay_us) {
    ring_.keep_at_least(delay_us);
    if (!encoder_) {
        encoder_ = key_.make_encoder();
        stream_.subscribe(*this);
    }
    add(sink);
    if (sink.is_player()) stream_.add_player();
    wake();
}

void MessageLane::leave(MessageSink& sink) {
    if (!is_in(sink)) return;
    remove(sink);
    if (sink.is_player()) stream_.remove_player();
    if (sinks() > 0) return;
    stream_.unsubscribe(*this);
    encoder_.reset();
    tracks_ = {};
    ring_.clear();
}

void MessageLane::wake() {
    if (sinks() > 0) request_round(runtime::event_ms());
}

void MessageLane::on_tracks(const base::Ref<media::TrackSet>& tracks) {
    tracks_ = tracks;
    encoder_->set_interval(interval_ms());
    encoder_->set_tracks(*tracks);
}

// A frame at which a decoder may begin, and that has the tables before it.
bool MessageLane::is_start(const media::Frame& frame) {
    if (frame.sequence_header || frame.kind == media::Kind::kData || !tracks_) return false;
    const bool at_keyframes = stream_.begins_at_keyframes() && encoder_->carries(media::Kind::kVideo);
    if (at_keyframes ? !frame.keyframe : frame.kind != media::Kind::kAudio) return false;
    if (frame.track != encoder_->first_track(frame.kind)) return false;
    encoder_->restore_start_state(encoder_->save_start_state());
    base::SliceBuilder prefix(0);
    encoder_->encode_prefix(*tracks_, frame.dts, false, prefix);
    return prefix.size() == 0;
}

void MessageLane::on_frame(const media::Frame& frame) {
    const size_t bytes = encoder_->encoded_size(frame);
    if (bytes == 0) return;
    const int64_t now_us = runtime::event_us();
    encoder_->encode(frame, ring_.append(bytes, now_us, is_start(frame)));
    const int64_t interval = interval_ms();
    const int64_t now_ms = now_us / 1000;
    if (interval == 0) {
        const bool urgent = frame.kind == media::Kind::kVideo || !stream_.video_flows();
        return request_round(now_ms + (urgent ? 0 : stream_.options().audio_wait_ms));
    }
    const int64_t offset_ms = stream_.cycle_offset_ms();
    request_round(((now_ms - offset_ms) / interval + 1) * interval + offset_ms);
}

void MessageLane::on_unpublish() {
    ring_.close();
    ring_.forget_start();
    wake();
}

void MessageLane::release_memory() { ring_.drop_history(runtime::event_us()); }

int64_t MessageLane::interval_ms() const {
    const LiveOptions& options = stream_.options();
    return std::max(options.merge_ms, options.send_min_interval_ms);
}

SendGroup::Begin MessageLane::begin_round(int64_t now_ms) {
    ring_.close();
    SinkGroup::begin_round(now_ms);
    return interval_ms() > 0 && stream_.read_publisher() ? Begin::kReads : Begin::kReady;
}

}  // namespace live
