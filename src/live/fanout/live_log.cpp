#include "live/fanout/live_log.h"

#include <algorithm>
#include <cstring>

#include "live/hub/stream.h"

namespace live {

LiveLog::LiveLog(Stream& stream, LogKey key, std::unique_ptr<WireEncoder> encoder)
    : stream_(stream), key_(std::move(key)), encoder_(std::move(encoder)), audience_(*this) {}

bool LiveLog::is_start(const media::Frame& frame) const {
    if (frame.sequence_header || frame.kind == media::Kind::kData) return false;
    const bool at_keyframes = stream_.begins_at_keyframes() && encoder_->carries(media::Kind::kVideo);
    if (at_keyframes ? !frame.keyframe : frame.kind != media::Kind::kAudio) return false;
    return frame.track == encoder_->first_track(frame.kind);
}

void LiveLog::append(const media::Frame& frame, const base::Ref<media::TrackSet>& tracks, int64_t now_us) {
    if (tracks != encoder_tracks_) {
        encoder_tracks_ = tracks;
        set_interval();
        encoder_->set_tracks(*tracks);
    }
    size_t bytes = encoder_->encoded_size(frame);
    if (bytes == 0) return;
    encoder_->encode(frame, reserve(bytes));
    if (is_start(frame)) {
        starts_.push_back({head(), frame.dts, tracks, encoder_->save_start_state(), {}});
        set_interval();
    }
    packets_.append(frame.dts, now_us / 1000, bytes);
    audience_.on_append(frame.kind == media::Kind::kVideo || !stream_.video_flows(), now_us);
}

// A reload may have changed it.
void LiveLog::set_interval() {
    const LiveOptions& options = stream_.options();
    encoder_->set_interval(std::max(options.merge_ms, options.send_min_interval_ms));
}

void LiveLog::forget_starts() {
    audience_.start_waiting();
    starts_.clear();
}

// A packet lies in one block, so that it is encoded in one pass and sent as one part.
uint8_t* LiveLog::reserve(size_t bytes) {
    if (blocks_.empty() || blocks_.back().capacity - blocks_.back().used < bytes) {
        const bool fits = bytes <= Delivery::kBlockBytes;
        const size_t capacity = fits ? Delivery::kBlockBytes : bytes;
        block_bytes_ += capacity;
        blocks_.push_back(
            {head(), 0, capacity,
             fits ? stream_.delivery().take_block() : std::make_unique_for_overwrite<uint8_t[]>(capacity)});
    }
    Block& block = blocks_.back();
    uint8_t* out = block.bytes.get() + block.used;
    block.used += bytes;
    return out;
}

const LiveLog::Block& LiveLog::block_of(uint64_t offset) const {
    // Nearly every viewer is at the newest block or the one before.
    size_t newest = blocks_.size() - 1;
    if (blocks_[newest].begin <= offset) return blocks_[newest];
    auto after = std::upper_bound(blocks_.begin(), blocks_.end(), offset,
                                  [](uint64_t value, const Block& block) { return value < block.begin; });
    return *(after - 1);
}

std::span<const uint8_t> LiveLog::contiguous(uint64_t offset, uint64_t end) const {
    const Block& block = block_of(offset);
    size_t at = offset - block.begin;
    return {block.bytes.get() + at, std::min<size_t>(block.used - at, end - offset)};
}

base::Slice LiveLog::copy(uint64_t offset, uint64_t end) const {
    base::SliceBuilder builder(end - offset);
    while (offset < end) {
        auto bytes = contiguous(offset, end);
        builder.append(bytes);
        offset += bytes.size();
    }
    return builder.freeze();
}

LiveLog::Start* LiveLog::start_for_new_viewer(int64_t audio_cache_ms) {
    if (starts_.empty()) return nullptr;
    if (audio_cache_ms == 0 || stream_.video_flows()) return &starts_.back();
    return &*std::find_if(starts_.begin(), starts_.end() - 1, [&](const Start& start) {
        return start.dts >= starts_.back().dts - media::from_ms(audio_cache_ms);
    });
}

bool LiveLog::awaits_tracks() {
    if (!encoder_->awaits_tracks()) [[likely]]
        return false;
    if (runtime::event_ms() - stream_.health().started_ms() < kTracksWaitMs) return true;
    encoder_->stop_awaiting();
    for (Start& start : starts_) start.prefix[1] = {};
    return false;
}

bool LiveLog::can_copy_gop() const {
    return encoder_->is_repeatable() && encoder_->carries(media::Kind::kVideo) && stream_.begins_at_keyframes() &&
           encoder_->first_track(media::Kind::kVideo) == 0 && !stream_.gop().empty();
}

base::Slice LiveLog::gop_copy(bool first, media::Time stop) {
    const auto& gop = stream_.gop();
    base::SliceBuilder builder;
    encoder_->encode_prefix(*stream_.gop_tracks(), gop.front().dts, first, builder);
    const auto end = std::ranges::find_if(gop, [&](const media::Frame& frame) { return frame.dts >= stop; });
    size_t total = builder.size();
    for (auto it = gop.begin(); it != end; ++it) total += encoder_->encoded_size(*it);
    builder.reserve(total);
    for (auto it = gop.begin(); it != end; ++it)
        if (const size_t bytes = encoder_->encoded_size(*it); bytes > 0) encoder_->encode(*it, builder.extend(bytes));
    return builder.freeze();
}

base::Slice LiveLog::shared_gop_copy() {
    if (copies_.empty() || copied_at_ != head()) {
        size_t bytes = 0;
        for (const base::Slice& copy : copies_) bytes += copy.memory();
        if (bytes > stream_.options().memory_limit / kCopiesShare) return {};
        copies_.push_back(gop_copy(true, media::Time::max()));
        copied_at_ = head();
    }
    return copies_.back();
}

LiveLog::Start* LiveLog::start_of_held_gop() {
    const auto& gop = stream_.gop();
    if (can_copy_gop() || gop.empty()) return nullptr;
    const auto since = gop.front().dts;
    const auto found = std::ranges::find_if(starts_, [since](const Start& start) { return start.dts >= since; });
    return found == starts_.end() ? nullptr : &*found;
}

LiveLog::Start* LiveLog::next_start(uint64_t offset) {
    auto it = std::lower_bound(starts_.begin(), starts_.end(), offset,
                               [](const Start& start, uint64_t value) { return start.offset < value; });
    return it == starts_.end() ? nullptr : &*it;
}

const media::TrackSet* LiveLog::tracks_at(uint64_t offset) const {
    auto after = std::upper_bound(starts_.begin(), starts_.end(), offset,
                                  [](uint64_t value, const Start& start) { return value < start.offset; });
    return after == starts_.begin() ? tail_tracks_.get() : (after - 1)->tracks.get();
}

const base::Slice& LiveLog::prefix(Start& start, bool first) {
    base::Slice& prefix = start.prefix[first];
    if (prefix.empty()) {
        base::SliceBuilder builder;
        encoder_->restore_start_state(start.encoder_state);
        encoder_->encode_prefix(*start.tracks, start.dts, first, builder);
        prefix = builder.freeze();
    }
    return prefix;
}

void LiveLog::release_first_block() {
    Block& block = blocks_.front();
    block_bytes_ -= block.capacity;
    if (block.capacity == Delivery::kBlockBytes) stream_.delivery().give_block(std::move(block.bytes));
    blocks_.pop_front();
}

void LiveLog::trim(uint64_t keep_from) {
    while (!blocks_.empty() && blocks_.front().end() <= keep_from) release_first_block();
    packets_.trim(tail());
    for (; !starts_.empty() && starts_.front().offset < tail(); starts_.pop_front())
        tail_tracks_ = std::move(starts_.front().tracks);
    std::erase_if(copies_, [](const base::Slice& copy) { return copy.is_only_reference(); });
}

uint64_t LiveLog::begin_offset() {
    const LiveOptions& options = stream_.options();
    if (audience_.size() <= kFewViewers && can_copy_gop()) return head();
    const Start* start = options.gop_cache ? start_for_new_viewer(options.audio_cache_ms) : nullptr;
    return start ? start->offset : head();
}

void LiveLog::release_before(uint64_t offset) { audience_.jump_before(offset); }

size_t LiveLog::memory() const {
    size_t bytes = block_bytes_ + packets_.memory() + starts_.size() * sizeof(Start);
    for (const base::Slice& copy : copies_) bytes += copy.memory();
    const media::TrackSet* before = stream_.tracks().get();  // the current tracks belong to the stream
    if (tail_tracks_ && tail_tracks_.get() != before) bytes += tail_tracks_->memory();
    for (const Start& start : starts_) {
        bytes += start.prefix[0].memory() + start.prefix[1].memory();
        if (start.tracks.get() != before) bytes += start.tracks->memory();
        before = start.tracks.get();
    }
    return bytes;
}

}  // namespace live
