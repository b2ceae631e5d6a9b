#include "service/hls/rendition.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace service::hls {

Rendition::Rendition(RenditionHost& host, const VhostConfig& hls, SegmentPaths names, SegmentStoreOptions options,
                     Index& index, Rendition* main)
    : host_(host),
      main_(main),
      paths_(std::move(names)),
      root_(options.root),
      fragments_per_key_(hls.fragments_per_key) {
    SegmentStoreHost& store_host = *this;
    if (hls.storage != "disk") stores_.push_back({make_memory_segment_store(store_host, paths_, options, index)});
    if (hls.storage != "memory") {
        disk_ = std::make_shared<DiskSegmentStore>(store_host, paths_, std::move(options), index);
        stores_.push_back({disk_});
    }
    for (size_t i = 0; main_ && i < stores_.size(); ++i) main_->stores_[i].store->add_follower(stores_[i].store);
    if (hls.keys) cipher_ = std::make_unique<Cipher>();
    ByteSink& sink = *this;
    muxer_ = hls.use_fmp4 ? make_mp4_muxer(sink) : make_ts_muxer(sink);
}

Rendition::~Rendition() {
    for (StoreState& state : stores_) state.store->detach();
}

std::string Rendition::playlist_path() const {
    return disk_ ? fmt::format("{}/{}", root_, paths_.playlist()) : std::string();
}

uint64_t Rendition::next_sequence() const {
    uint64_t next = 0;
    for (const StoreState& state : stores_) next = std::max(next, state.store->window().next_sequence());
    return next;
}

void Rendition::begin_publishing() {
    for (StoreState& state : stores_) state.store->begin_publishing();
}

// ---- A segment

bool Rendition::is_open() const { return std::ranges::any_of(stores_, &StoreState::open); }

base::Result<void> Rendition::open(const media::TrackSet& tracks, const media::Frame& first, SegmentInfo info,
                                   bool changed) {
    segment_info_ = std::move(info);
    has_frame_ = false;
    for (StoreState& state : stores_) {
        state.store->open();
        state.open = true;
    }
    base::Result<void> good;
    if (cipher_) good = cipher_->begin(fragments_per_key_);
    bool fresh = fresh_ || changed || segment_info_.discontinuity;
    if (good) good = muxer_->open(tracks, first, fresh);
    fresh_ = !good;
    return good;
}

base::Result<void> Rendition::add(const media::Frame& frame) {
    has_frame_ = true;
    return muxer_->add(frame);
}

void Rendition::put(std::span<const uint8_t> bytes) { write_to_stores(cipher_ ? cipher_->encrypt(bytes) : bytes); }

void Rendition::write_to_stores(std::span<const uint8_t> bytes) {
    for (StoreState& state : stores_) {
        if (!state.open) continue;
        auto written = state.store->write(bytes);
        if (written) continue;
        state.open = false;
        state.store->lose();
        host_.store_failed(*this, paths_.playlist(), written.error());
    }
}

void Rendition::lose() {
    for (StoreState& state : stores_) {
        if (state.open) state.store->lose();
        state.open = false;
    }
    fresh_ = true;
}

base::Result<void> Rendition::close(const Closing& closing) {
    // A file without a frame is no segment that players accept.
    if (main_ && !has_frame_) {
        lose();
        return {};
    }
    auto closed = muxer_->close(closing.next_video_dts);
    if (cipher_) write_to_stores(cipher_->finish());
    segment_info_.duration_ms = closing.duration_ms;
    segment_info_.independent = closing.independent;
    segment_info_.init = muxer_->init();
    if (cipher_) {
        segment_info_.key = cipher_->key();
        segment_info_.iv = cipher_->iv();
    }
    for (size_t i = 0; i < stores_.size(); ++i) {
        StoreState& state = stores_[i];
        state.finished = state.open && (!main_ || main_->stores_[i].finished);
        if (state.finished) {
            state.store->finish(segment_info_);
        } else if (state.open) {
            state.store->lose();
        }
        state.open = false;
    }
    return closed;
}

// ---- Events of the segment stores

void Rendition::store_changed(SegmentStore& store) {
    if (&store != stores_.front().store.get()) return;
    const Window& window = store.window();
    gzipped_.clear();
    if (window.entries().empty()) {
        view_.reset();
        return;
    }
    auto view = std::make_shared<View>();
    view->playlist = window.playlist();
    view->written = m3u8::write(view->playlist);
    uint64_t bits = 0, all_ms = 0;
    for (const Entry& entry : window.entries()) {
        auto duration = static_cast<uint64_t>(std::max<int64_t>(1, entry.item.duration_ms));
        view->bandwidth = std::max(view->bandwidth, entry.bytes * 8'000 / duration);
        bits += entry.bytes * 8;
        all_ms += duration;
    }
    view->average_bandwidth = bits * 1'000 / std::max<uint64_t>(1, all_ms);
    view->bandwidth = std::max<uint64_t>(1, view->bandwidth);
    view_ = std::move(view);
}

void Rendition::segment_done(SegmentStore& store, const Entry& entry, uint64_t sequence, const std::string& path) {
    // If there are two stores, the disk reports.
    if (&store == stores_.back().store.get()) host_.segment_done(*this, entry, sequence, path);
}

void Rendition::store_failed(SegmentStore&, const std::string& path, const base::Error& error) {
    host_.store_failed(*this, path, error);
}

// ---- Timers

void Rendition::end_list() {
    for (StoreState& state : stores_) {
        const Window& window = state.store->window();
        if (state.store->idle() && !window.ended() && !window.entries().empty()) state.store->end_list();
    }
}

void Rendition::tick(int64_t now_ms) {
    for (size_t i = 0; i < stores_.size(); ++i) {
        SegmentStore& store = *stores_[i].store;
        if (main_) store.leave_before(main_->stores_[i].store->window().first_sequence(), now_ms);
        store.tick(now_ms);
    }
}

bool Rendition::empty() const {
    return std::ranges::all_of(stores_, [](const StoreState& state) {
        const Window& window = state.store->window();
        return window.entries().empty() && window.left_entries() == 0 && state.store->idle();
    });
}

void Rendition::dispose() {
    for (StoreState& state : stores_) state.store->dispose();
    view_.reset();
}

bool Rendition::idle() const {
    return std::ranges::all_of(stores_, [](const StoreState& state) { return state.store->idle(); });
}

size_t Rendition::memory() const {
    size_t bytes = muxer_->memory();
    for (const StoreState& state : stores_) bytes += state.store->memory();
    return bytes;
}

void Rendition::release_memory() {
    for (StoreState& state : stores_) state.store->release_memory();
}

}  // namespace service::hls
