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
    if (hls.storage != "disk") cut.max_bytes = std::min<uint64_t>(cut.max_bytes, memory_limit / 8);
    return cut;
}

std::string without_slash(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

}  // namespace

Output::Output(OutputOptions options, Names names, Index& index, const live::Events& events, Disconnect disconnect)
    : options_(std::move(options)),
      events_(events),
      disconnect_(std::move(disconnect)),
      segmenter_(cut_options(options_.hls, options_.memory_limit), *this),
      main_(*this, options_.hls, std::move(names), store_options(), index) {}

Output::~Output() {
    if (stream_) stream_->unsubscribe(*this);
}

SegmentStoreOptions Output::store_options() const {
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
    out.max_bytes = options_.memory_limit / 2;
    // A segment must not be cached beyond its window, or until a disposed stream starts again with the same names.
    out.max_age_s = std::max<int64_t>(1, static_cast<int64_t>(hls.window));
    if (hls.dispose > 0) out.max_age_s = std::min<int64_t>(out.max_age_s, hls.dispose);
    return out;
}

uint64_t Output::next_sequence() const { return std::max(options_.first_sequence, main_.next_sequence()); }

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
    main_.begin_publishing();
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
    const size_t at_once = stream_->tracks()->video() ? kFramesAtOnce : kAudioFramesAtOnce;
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
    return waiting_bytes_ + waiting_.capacity() * sizeof(Waiting) + segmenter_.held_bytes() + main_.memory();
}

void Output::release_memory() {
    feed_waiting();
    segmenter_.release_held();
    main_.release_memory();
}

media::Frame Output::with_counted_time(const media::Frame& frame) {
    AacTrack& aac = aac_[frame.track];
    media::Frame out = frame;
    out.dts = aac.clock.correct(frame.dts, aac.samples, aac.rate);
    return out;
}

// ---- A segment

void Output::open_segment(const Opening& opening) {
    if (off_) return segmenter_.lost();
    const media::Track* video = opening.tracks.video();
    if (opening.tracks_changed && video && video->header) {
        auto info = media::video_info(*video->header);
        // VP9's sequence header does not contain the size.
        if (info && info->width == 0 && opening.first.keyframe) info = media::video_info(opening.first);
        width_ = info ? info->width : 0;
        height_ = info ? info->height : 0;
    }
    auto opened =
        main_.open(opening.tracks, opening.first, opening.clock_ms, opening.tracks_changed, opening.discontinuity);
    if (opened) return;
    lose_segment();
    failed(names().playlist(), opened.error().text(), opened.error().code() == base::Code::kRefused);
}

void Output::write_frame(const media::Frame& frame) {
    auto added = main_.add(frame);
    if (!added) {
        lose_segment();
        return failed(names().playlist(), added.error().text(), false);
    }
    if (!main_.is_open()) lose_segment();
}

// No store can write the segment.
void Output::lose_segment() {
    main_.lose();
    segmenter_.lost();
}

void Output::close_segment(const Closing& closing) {
    auto closed = main_.close(closing);
    if (!closed) failed(names().playlist(), closed.error().text(), false);
}

// ---- Events of the renditions

void Output::segment_done(Rendition& rendition, const Entry& entry, uint64_t sequence, const std::string& path) {
    ++segments_;
    live::SegmentDone event;
    event.stream = options_.key;
    event.path = path;
    event.url = entry.item.uri;
    event.playlist_path = rendition.playlist_path();
    event.playlist_url = rendition.names().playlist();
    event.duration_ms = entry.item.duration_ms;
    event.sequence = sequence;
    event.publisher = publisher_;
    event.full_url = options_.hls.entry_prefix.empty() ? entry.path : entry.item.uri;
    base::log::info("HLS: {} segment {}, {} ms, {} bytes{}", options_.key.text(), entry.path, entry.item.duration_ms,
                    entry.bytes, entry.item.discontinuity ? ", behind a discontinuity" : "");
    events_.tell(event);
}

void Output::store_failed(Rendition&, const std::string& path, const base::Error& error) {
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
    const auto shown = view();
    if (!shown) return false;
    int64_t length_ms = shown->playlist.target_duration_s * 1'000;
    for (const auto& segment : shown->playlist.segments) length_ms += segment.duration_ms;
    return now_ms < unpublished_ms_ + length_ms;
}

void Output::tick(int64_t now_ms) {
    const int64_t wall_ms = base::wall_ms();
    if (!waiting_.empty() && wall_ms - waiting_.front().wall_ms >= kMaxWaitingMs) feed_waiting();
    if (stream_ && !off_) segmenter_.tick(wall_ms);
    main_.tick(now_ms);
    if (!stream_ && unpublished_ms_ > 0 && now_ms - unpublished_ms_ >= options_.rejoin_timeout_ms) main_.end_list();
}

bool Output::must_be_disposed(int64_t now_ms) const {
    return !stream_ && unpublished_ms_ > 0 && options_.hls.dispose > 0 &&
           now_ms - unpublished_ms_ >= options_.hls.dispose * INT64_C(1'000);
}

void Output::dispose() { main_.dispose(); }

bool Output::idle() const { return main_.idle(); }

}  // namespace service::hls
