#include "service/hls/output.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "media/aac.h"
#include "media/track.h"
#include "runtime/loop/log_limit.h"
#include "service/hls/config.h"

namespace service::hls {

namespace {
runtime::LogLimit hls_failures;
}  // namespace

namespace {

int64_t ms(double seconds) { return static_cast<int64_t>(seconds * 1000 + 0.5); }

CutOptions cut_options(const VhostConfig& hls, size_t memory_limit) {
    CutOptions cut{std::max<int64_t>(1, ms(hls.fragment)), hls.aof_ratio, hls.wait_keyframe, hls.ts_floor};
    // Half of the memory is for segments, of which several are always held.
    if (hls.storage != "disk") cut.most_bytes = std::min<uint64_t>(cut.most_bytes, memory_limit / 8);
    return cut;
}

std::string without_slash(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

}  // namespace

Output::Output(OutputOptions options, Names names, Index& index, const live::Events& events, Disconnect disconnect)
    : options_(std::move(options)),
      names_(std::move(names)),
      index_(index),
      events_(events),
      disconnect_(std::move(disconnect)),
      segmenter_(cut_options(options_.hls, options_.memory_limit), *this) {
    const VhostConfig& hls = options_.hls;
    SegmentStoreHost& host = *this;
    if (hls.storage != "disk") places_.push_back({make_memory_shelf(host, names_, shelf_options(), index_)});
    if (hls.storage != "memory") {
        disk_ = std::make_shared<DiskSegmentStore>(host, names_, shelf_options(), index_);
        places_.push_back({disk_});
    }
    if (hls.keys) cipher_ = std::make_unique<Cipher>();
    ByteSink& sink = *this;
    packer_ = hls.use_fmp4 ? make_mp4_packer(sink) : make_ts_packer(sink);
}

Output::~Output() {
    if (stream_) stream_->unsubscribe(*this);
    for (Place& place : places_) place.shelf->detach();
}

SegmentStoreOptions Output::shelf_options() const {
    const VhostConfig& hls = options_.hls;
    SegmentStoreOptions out;
    out.vhost = options_.key.vhost;
    out.stream = std::make_shared<const live::StreamKey>(options_.key);
    out.root = without_slash(hls.path);
    out.key_root = hls.key_file_path.empty() ? out.root : without_slash(hls.key_file_path);
    out.window = {ms(hls.window), ms(hls.fragment * hls.td_ratio)};
    out.cleanup = hls.cleanup;
    out.recover = hls.recover;
    out.first_sequence = options_.first_sequence;
    out.most_bytes = options_.memory_limit / 2;
    // A segment must not be cached beyond its window, or until a disposed stream starts again with the same names.
    out.max_age_s = std::max<int64_t>(1, static_cast<int64_t>(hls.window));
    if (hls.dispose > 0) out.max_age_s = std::min<int64_t>(out.max_age_s, hls.dispose);
    return out;
}

uint64_t Output::next_sequence() const {
    uint64_t next = options_.first_sequence;
    for (const Place& place : places_) next = std::max(next, place.shelf->window().next_sequence());
    return next;
}

// ---- The stream

void Output::follow(live::Stream& stream) {
    stream_ = &stream;
    publisher_ = stream.publisher() ? stream.publisher()->facts().session_id : std::string();
    stream.subscribe(*this);
}

void Output::on_publish() {
    off_ = false;
    waiting_.clear();
    waiting_bytes_ = 0;
    waiting_.reserve(kFramesAtOnce);
    for (Place& place : places_) place.shelf->begin_publishing();
    segmenter_.begin();
}

void Output::on_unpublish() {
    feed_waiting();
    segmenter_.end();
    stream_->unsubscribe(*this);
    stream_ = nullptr;
    unpublished_ms_ = base::monotonic_ms();
}

void Output::on_tracks(const base::Ref<media::TrackSet>& tracks) {
    if (off_) return;
    feed_waiting();
    for (const media::Track& track : tracks->tracks) {
        if (track.kind != media::Kind::kAudio) continue;
        AacTrack& aac = aac_[track.index];
        auto config = track.config() && track.codec == media::Codec::kAac
                          ? media::parse_aac_config(track.config()->payload)
                          : base::Result<media::AacConfig>(media::AacConfig());
        aac.rate = config ? config->core_sample_rate : 0;
        aac.samples = config ? config->samples_per_frame : 0;
    }
    segmenter_.set_tracks(tracks);
}

void Output::on_frame(const media::Frame& frame) {
    if (off_) return;
    if (waiting_.empty() || !frame.payload.shares_memory(waiting_.back().frame.payload))
        waiting_bytes_ += frame.payload.memory();
    waiting_.push_back({frame, base::wall_ms()});
    const size_t at_once = stream_->tracks()->video() ? kFramesAtOnce : kSoundsAtOnce;
    if (frame.keyframe || waiting_.size() >= at_once || waiting_bytes_ >= kBytesAtOnce) feed_waiting();
}

void Output::feed_waiting() {
    for (const Waiting& next : waiting_) {
        if (off_) break;
        const bool counts = !options_.hls.dts_directly && next.frame.codec == media::Codec::kAac;
        segmenter_.feed(counts ? with_counted_time(next.frame) : next.frame, next.wall_ms);
    }
    waiting_.clear();
    waiting_bytes_ = 0;
}

size_t Output::memory() const {
    size_t bytes = waiting_bytes_ + waiting_.capacity() * sizeof(Waiting) + segmenter_.held_bytes() + packer_->memory();
    for (const Place& place : places_) bytes += place.shelf->memory();
    return bytes;
}

void Output::release_memory() {
    feed_waiting();
    segmenter_.release_held();
    for (Place& place : places_) place.shelf->release_memory();
}

media::Frame Output::with_counted_time(const media::Frame& frame) {
    AacTrack& aac = aac_[frame.track];
    media::Frame out = frame;
    out.dts = aac.clock.correct(frame.dts, aac.samples, aac.rate);
    return out;
}

// ---- A segment

bool Output::any_open() const { return std::ranges::any_of(places_, &Place::open); }

void Output::open_segment(const Opening& opening) {
    if (off_) return segmenter_.lost();
    sealing_ = {};
    sealing_.clock_ms = opening.clock_ms;
    sealing_.discontinuity = opening.discontinuity;
    for (Place& place : places_) {
        place.shelf->open();
        place.open = true;
    }
    const media::Track* video = opening.tracks.video();
    if (opening.tracks_changed && video && video->header) {
        auto info = media::video_info(*video->header);
        // VP9's sequence header does not contain the size.
        if (info && info->width == 0 && opening.first.keyframe) info = media::video_info(opening.first);
        width_ = info ? info->width : 0;
        height_ = info ? info->height : 0;
    }
    base::Result<void> good;
    if (cipher_) good = cipher_->begin(options_.hls.fragments_per_key);
    bool fresh = fresh_ || opening.tracks_changed || opening.discontinuity;
    if (good) good = packer_->open(opening.tracks, opening.first, fresh);
    fresh_ = !good;
    if (good) return;
    lose_segment();
    failed(names_.playlist(), good.error().text(), good.error().code() == base::Code::kRefused);
}

void Output::write_frame(const media::Frame& frame) {
    auto added = packer_->add(frame);
    if (!added) {
        lose_segment();
        return failed(names_.playlist(), added.error().text(), false);
    }
    if (!any_open()) lose_segment();
}

void Output::put(std::span<const uint8_t> bytes) { write_to_shelves(cipher_ ? cipher_->encrypt(bytes) : bytes); }

void Output::write_to_shelves(std::span<const uint8_t> bytes) {
    for (Place& place : places_) {
        if (!place.open) continue;
        auto written = place.shelf->write(bytes);
        if (written) continue;
        place.open = false;
        place.shelf->lose();
        failed(names_.playlist(), written.error().text(), false);
    }
}

// No store can write the segment.
void Output::lose_segment() {
    for (Place& place : places_) {
        if (place.open) place.shelf->lose();
        place.open = false;
    }
    fresh_ = true;
    segmenter_.lost();
}

void Output::close_segment(const Closing& closing) {
    auto closed = packer_->close(closing.next_video_dts);
    if (cipher_) write_to_shelves(cipher_->finish());
    if (!closed) failed(names_.playlist(), closed.error().text(), false);
    sealing_.duration_ms = closing.duration_ms;
    sealing_.independent = closing.independent;
    sealing_.init = packer_->init();
    if (cipher_) {
        sealing_.key = cipher_->key();
        sealing_.iv = cipher_->iv();
    }
    for (Place& place : places_) {
        if (place.open) place.shelf->seal(sealing_);
        place.open = false;
    }
}

// ---- Events of the segment stores

void Output::shelf_changed(SegmentStore& shelf) {
    if (&shelf != places_.front().shelf.get()) return;
    const Window& window = shelf.window();
    zipped_.clear();
    if (window.entries().empty()) {
        view_.reset();
        return;
    }
    auto view = std::make_shared<View>();
    view->playlist = window.playlist();
    view->text = m3u8::write(view->playlist);
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

void Output::segment_done(SegmentStore& shelf, const Entry& entry, uint64_t sequence, const std::string& path) {
    // If there are two stores, the disk reports.
    if (&shelf != places_.back().shelf.get()) return;
    ++segments_;
    live::SegmentDone event;
    event.stream = options_.key;
    event.path = path;
    event.url = entry.item.uri;
    event.playlist_path = disk_ ? fmt::format("{}/{}", without_slash(options_.hls.path), names_.playlist()) : "";
    event.playlist_url = names_.playlist();
    event.duration_ms = entry.item.duration_ms;
    event.sequence = sequence;
    event.publisher = publisher_;
    event.full_url = options_.hls.entry_prefix.empty() ? entry.path : entry.item.uri;
    base::log::info("HLS: {} segment {}, {} ms, {} bytes{}", options_.key.text(), entry.path, entry.item.duration_ms,
                    entry.bytes, entry.item.discontinuity ? ", behind a discontinuity" : "");
    events_.tell(event);
}

void Output::shelf_failed(SegmentStore&, const std::string& path, const base::Error& error) {
    failed(path, error.text(), false);
}

// for_good: retrying is useless, whatever hls_on_error says.
void Output::failed(const std::string& path, const std::string& reason, bool for_good) {
    ++failures_;
    const std::string& policy = options_.hls.on_error;
    runtime::warn_some(hls_failures, "HLS of {} failed: {}", options_.key.text(), reason);
    events_.tell(live::OutputFailed{options_.key, "hls", path, reason});
    if (off_ || !stream_) return;
    if (policy == "disconnect") return disconnect_(options_.key, reason);
    if (!for_good && policy == "continue") return;
    base::log::warn("HLS of {} is off until it is published again", options_.key.text());
    off_ = true;
    lose_segment();
}

// ---- Timers

bool Output::lasts(int64_t now_ms) const {
    if (stream_) return true;
    if (!view_) return false;
    int64_t length_ms = view_->playlist.target_duration_s * 1'000;
    for (const auto& segment : view_->playlist.segments) length_ms += segment.duration_ms;
    return now_ms < unpublished_ms_ + length_ms;
}

void Output::tick(int64_t now_ms) {
    const int64_t wall_ms = base::wall_ms();
    if (!waiting_.empty() && wall_ms - waiting_.front().wall_ms >= kMaxWaitingMs) feed_waiting();
    if (stream_ && !off_) segmenter_.tick(wall_ms);
    for (Place& place : places_) {
        place.shelf->tick(now_ms);
        bool over = !stream_ && unpublished_ms_ > 0 && now_ms - unpublished_ms_ >= options_.rejoin_timeout_ms;
        if (over && place.shelf->idle() && !place.shelf->window().ended() && !place.shelf->window().entries().empty())
            place.shelf->end_list();
    }
}

bool Output::must_be_disposed(int64_t now_ms) const {
    return !stream_ && unpublished_ms_ > 0 && options_.hls.dispose > 0 &&
           now_ms - unpublished_ms_ >= options_.hls.dispose * INT64_C(1'000);
}

void Output::dispose() {
    for (Place& place : places_) place.shelf->dispose();
    view_.reset();
}

bool Output::idle() const {
    return std::ranges::all_of(places_, [](const Place& place) { return place.shelf->idle(); });
}

}  // namespace service::hls
