#include "service/hls/output.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "media/captions.h"
#include "media/codec_parameter.h"
#include "media/track.h"
#include "runtime/loop/clock.h"
#include "service/hls/config.h"
#include "service/hls/variants/variant_group.h"

namespace service::hls {

Output::Output(OutputOptions options, SegmentPaths names, net::Resources& resources, const live::Events& events,
               runtime::LogLimit& failure_log, Disconnect disconnect)
    : options_(std::move(options)),
      paths_(std::move(names)),
      resources_(resources),
      events_(events),
      failure_log_(failure_log),
      disconnect_(std::move(disconnect)),
      default_audio_(options_.hls.use_fmp4 ? convert::mp4_carries : convert::ts_carries),
      segmenter_(cut_options(options_), *this),
      timeline_(std::make_shared<SegmentTimeline>(timeline_options(options_))),
      writer_(writer_options(options_)),
      renditions_(
          options_.hls.use_fmp4, writer_, [this](RenditionId id) { return make_rendition(id); },
          [this](RenditionId id, const base::Error& why) {
              runtime::warn_some(failure_log_, "HLS of {}: {} is left out: {}", options_.key.text(),
                                 id == kVideoRendition ? "the video alone"
                                                       : fmt::format("audio track {}", id - kFirstAudioRendition + 1),
                                 why.text());
          }),
      master_file_(fmt::format("{}/{}", root_of(options_.hls), paths_.master()), options_.key.text()) {
    segmenter_.set_end([this](media::Time keyframe) {
        if (!variant_) return seeks_keyframe_;
        return variant_.ends_before(timeline_->sequence(timeline_->end()), keyframe);
    });
    if (options_.first_sequence > 0) timeline_->break_here();
    timeline_->skip_to(options_.first_sequence);
    if (options_.dash.enabled) {
        DashHost& host = *this;
        dash_ = std::make_unique<Dash>(host, options_, resources_, timeline_, writer_);
    }
}

Output::~Output() {
    if (stream_) stream_->unsubscribe(*this);
}

std::unique_ptr<Rendition> Output::make_rendition(RenditionId id) {
    RenditionHost& host = *this;
    return std::make_unique<Rendition>(host, options_.hls, paths_.of_rendition(id), files_options(options_), resources_,
                                       timeline_, writer_);
}

void Output::for_each_rendition(const std::function<void(Rendition&)>& visit) const {
    renditions_.for_each(visit);
    if (dash_) dash_->for_each(visit);
}

void Output::begin(LeftStream left) {
    has_begun_ = true;
    if (left.any) take_over_timeline(left.timeline);
    timeline_->skip_to(std::max(options_.first_sequence, left.next_sequence));
    if (left.master) master_file_.found();
    if (options_.hls.enabled) renditions_.add(kMainRendition);
    for (LeftRendition& one : left.renditions) {
        renditions_.add(one.id);
        renditions_.find(one.id)->take_over(std::move(one), left.blobs);
    }
    if (dash_ && left.dash)
        dash_->take_over(*std::move(left.dash), left.blobs);
    else if (dash_)
        dash_->drop_left();
    if (!stream_ && waiting_.empty()) return;
    begin_publishing();
    feed_waiting();
    if (!stream_) segmenter_.end();
}

void Output::take_over_timeline(const LeftTimeline& left) {
    timeline_->recover(left, runtime::now_ms());
    continuation_ = left.continuation;
    segmenter_.set_longest(timeline_->longest());
    if (keeps_part_target(options_.hls, left.part_target)) {
        segmenter_.keep_part_target(left.part_target);
        timeline_->set_part_target(segmenter_.part_target());
    }
    base::log::trace("HLS: {} continues at segment {}, with {} earlier ones", paths_.playlist(),
                     timeline_->sequence(timeline_->end()), left.segments.size());
}

base::Result<ClipPaths> Output::clip(const http::TimeRange& range) const {
    if (!options_.hls.use_fmp4)
        return base::fail(base::Code::kRefused, "clips are made of segments in MP4: hls_use_fmp4 on");
    if (options_.hls.keys) return base::fail(base::Code::kRefused, "the segments are encrypted: hls_keys");
    std::vector<const Rendition*> all{renditions_.main()};
    for (uint8_t track = 1; track < media::kMaxTracks; ++track)
        if (const Rendition* rendition = renditions_.find(audio_rendition(track))) all.push_back(rendition);
    return select_clip(all, range);
}

std::vector<std::shared_ptr<SegmentFiles>> Output::files() const {
    std::vector<std::shared_ptr<SegmentFiles>> all;
    for_each_rendition([&](Rendition& rendition) {
        if (rendition.files()) all.push_back(rendition.files());
    });
    return all;
}

// ---- The stream

void Output::follow(live::Stream& stream, std::shared_ptr<VariantGroup> group) {
    stream_ = &stream;
    group_ = std::move(group);
    joins_ = group_ != nullptr;
    variant_ = group_ ? VariantClock::Member(group_->clock, runtime::now_ms()) : VariantClock::Member();
    publisher_ = stream.publisher() ? stream.publisher()->facts().session_id : std::string();
    stream.subscribe(*this);
}

void Output::on_publish() {
    off_ = false;
    waiting_.clear();
    waiting_bytes_ = 0;
    waiting_.reserve(kFramesAtOnce);
    changed_tracks_ = nullptr;
    if (has_begun_) begin_publishing();
}

void Output::begin_publishing() {
    const bool anew = renditions_.main() && renditions_.main()->list().ended();
    timeline_->begin(anew);
    if (anew) segmenter_.forget_part_target();
    segmenter_.set_longest(timeline_->longest());
    for_each_rendition([](Rendition& rendition) { rendition.begin_publishing(); });
    if (dash_) dash_->begin_publishing();
    segmenter_.begin();
}

void Output::on_unpublish() {
    if (has_begun_) {
        feed_waiting();
        segmenter_.end();
    }
    variant_ = {};
    if (continuation_ && !is_given_over_) end_continuation(false, "it is not published any more");
    stream_->unsubscribe(*this);
    stream_ = nullptr;
    changed_.pulse();
    unpublished_ms_ = runtime::now_ms();
}

void Output::on_tracks(const base::Ref<media::TrackSet>& published) {
    if (off_) return;
    changed_tracks_ = default_audio_.choose(
        published, [this](const media::Track& track, const base::Error& why) { report_left_out(track, why); });
}

void Output::on_frame(const media::Frame& frame) {
    if (off_ || !default_audio_.has(frame) || (continuation_ && !is_given_over_ && skips(frame))) return;
    if (waiting_.empty() || !frame.payload.shares_memory(waiting_.back().frame.payload))
        waiting_bytes_ += frame.payload.memory();
    waiting_.push_back({frame, {runtime::event_ms(), base::wall_ms()}, std::exchange(changed_tracks_, nullptr)});
    waiting_.back().frame.track = default_audio_.index_of(frame);
    if (!has_begun_) {
        if (waiting_bytes_ < options_.memory_limit / 4) return;
        drop_waiting();
        return failed("hls", paths_.playlist(), "the disk has not told yet what an earlier run has left", false);
    }
    if (std::exchange(releases_held_, false)) {
        feed_waiting();
        return segmenter_.release_held();
    }
    const size_t at_once = stream_->tracks()->video() ? kFramesAtOnce : kAudioFramesAtOnce;
    const int64_t waited_ms = waiting_.back().arrival.monotonic_ms - waiting_.front().arrival.monotonic_ms;
    if (variant_ && !variant_.has_offset() && waited_ms < kPlacedByMs && waiting_.size() < kFramesAtOnce) return;
    const bool is_urgent = options_.hls.has_parts() || frame.keyframe || seeks_keyframe_;
    if (is_urgent || waiting_.size() >= at_once || waiting_bytes_ >= kBytesAtOnce) feed_waiting();
}

void Output::feed_waiting() {
    if (variant_ && !variant_.has_offset() && !waiting_.empty()) place_in_group();
    for (Waiting& next : waiting_) {
        if (off_) break;
        if (next.tracks) {
            tracks_ = std::move(next.tracks);
            aac_clocks_.set_tracks(*tracks_);
            segmenter_.set_tracks(tracks_);
        }
        if (variant_) {
            next.frame.dts = variant_.shared(next.frame.dts);
            variant_.arrived(next.frame.dts, next.arrival.monotonic_ms);
        }
        if (!options_.hls.dts_directly && next.frame.codec == media::Codec::kAac)
            next.frame.dts = aac_clocks_.correct(next.frame);
        segmenter_.feed(next.frame, next.arrival);
    }
    waiting_.clear();
    waiting_bytes_ = 0;
}

// The next frame has the tracks that these had.
void Output::drop_waiting() {
    for (auto last = waiting_.rbegin(); last != waiting_.rend() && !changed_tracks_; ++last)
        changed_tracks_ = std::move(last->tracks);
    waiting_.clear();
    waiting_bytes_ = 0;
}

// ---- The group

void Output::place_in_group() {
    // Their playlists have the same EXT-X-SERVER-CONTROL (draft-pantos-hls-rfc8216bis, 6.2.4).
    if (options_.hls.has_parts())
        group_->for_each([this](const Output& other) {
            if (const media::Time target = other.segmenter_.part_target(); target > media::Time(0))
                segmenter_.keep_part_target(target);
        });
    const auto dts = [](const Waiting& one) { return one.frame.dts; };
    const Waiting& newest = *std::ranges::max_element(waiting_, {}, dts);
    variant_.set_offset(dts(*std::ranges::min_element(waiting_, {}, dts)), dts(newest), newest.arrival.monotonic_ms);
}

// With its first segment it takes the numbers that the others have.
void Output::join_group(media::Time start) {
    if (std::exchange(joins_, false)) {
        if (const auto position = variant_.position_at(start)) timeline_->continue_at(*position, runtime::now_ms());
        segmenter_.set_longest(timeline_->longest());
        renditions_.for_each([](Rendition& rendition) { rendition.begin_list(); });
        if (dash_ && timeline_->empty()) dash_->begin_list();
    }
    variant_.begin_segment(timeline_->position(), start);
}

void Output::end_waiting() {
    renditions_.for_each([](Rendition& rendition) { rendition.end_waiting(); });
}

size_t Output::memory() const {
    size_t bytes = waiting_bytes_ + waiting_.capacity() * sizeof(Waiting) + segmenter_.held_bytes() + writer_.memory();
    for_each_rendition([&](Rendition& rendition) { bytes += rendition.memory(); });
    return bytes;
}

void Output::release_memory() {
    if (!has_begun_) return drop_waiting();
    feed_waiting();
    segmenter_.release_held();
    keep_below(stream_ ? bytes_in_memory() / 2 : 0);
}

uint64_t Output::bytes_in_memory() const {
    uint64_t bytes = 0;
    for_each_rendition([&](Rendition& rendition) { bytes += rendition.list().bytes_in_memory(); });
    return bytes;
}

// The oldest segments go first, in all renditions at once; the newest one of each stays while the stream is published.
void Output::keep_below(uint64_t bytes) {
    while (bytes_in_memory() > bytes) {
        std::optional<SegmentTimeline::Id> oldest;
        for_each_rendition([&](const Rendition& rendition) {
            const auto own = rendition.oldest_in_memory(!stream_);
            if (own && (!oldest || *own < *oldest)) oldest = own;
        });
        if (!oldest) return;
        for_each_rendition([&](Rendition& rendition) { rendition.drop_from_memory(*oldest); });
    }
}

// ---- A segment

void Output::record_size(const Opening& opening) {
    const media::Track* video = opening.tracks.video();
    if (!opening.tracks_changed || !video || !video->header) return;
    auto info = media::video_info(*video->header);
    // VP9's sequence header does not contain the size.
    if (info && info->width == 0 && opening.first.keyframe) info = media::video_info(opening.first);
    frame_rate_ = 0;
    has_captions_ = false;
    width_ = info ? info->width : 0;
    height_ = info ? info->height : 0;
}

// The video, or the only audio, of which the main rendition has nothing.
void Output::report_missing(const media::TrackSet& tracks) {
    for (const media::Kind kind : {media::Kind::kVideo, media::Kind::kAudio}) {
        const media::Track* track = tracks.find(kind);
        if (!track || writer_.has(kind, 0)) continue;
        if (auto carried = default_audio_.carries(*track); !carried) report_left_out(*track, carried.error());
    }
}

void Output::report_left_out(const media::Track& track, const base::Error& why) {
    uint32_t& reported = left_out_.at(track.kind, track.index);
    if (std::exchange(reported, track.revision) == track.revision) return;
    runtime::warn_some(failure_log_, "HLS of {}: {} track {} is left out: {}", options_.key.text(),
                       track.kind == media::Kind::kVideo ? "video" : "audio", track.index + 1, why.text());
}

void Output::open_segment(const Opening& opening) {
    if (off_) return segmenter_.lost();
    video_frames_ = 0;
    if (seeks_keyframe_ && !opening.tracks.video()) keyframe_dts_ = opening.first.dts;
    record_size(opening);
    timeline_->set_part_target(segmenter_.part_target());
    timeline_->open({.start = opening.first.dts,
                     .wall_ms = opening.wall_ms,
                     .date_ms = opening.date_ms,
                     .discontinuity = opening.discontinuity});
    if (variant_) join_group(opening.first.dts);
    writer_.open(opening.tracks, opening.first, opening.tracks_changed || opening.discontinuity);
    if (!gap_timer_.is_set()) await_gap();
    if (options_.hls.enabled && !open_hls(opening)) return;
    if (dash_) dash_->open(opening.tracks, opening.first);
}

// False: the segment was given up.
bool Output::open_hls(const Opening& opening) {
    const auto opened = renditions_.open(opening.tracks);
    has_hls_ = opened.has_value();
    const bool is_refused = !opened && opened.error().code() == base::Code::kRefused;
    // DASH may have what TS does not carry.
    if (opened || (is_refused && dash_)) {
        main_has_audio_ = writer_.has(media::Kind::kAudio, 0);
        if (opening.tracks_changed) report_missing(opening.tracks);
        return true;
    }
    lose_segment();
    failed("hls", paths().playlist(), opened.error().text(), is_refused);
    return false;
}

// No rendition has anything of it.
void Output::open_gap(media::Time start) {
    video_frames_ = 0;
    timeline_->open({.start = start, .wall_ms = base::wall_ms(), .gap = true});
    renditions_.open_gap();
    if (dash_) dash_->open_gap();
}

// A second video track is not part of HLS: it would be another variant, which has keyframes of its own.
void Output::write_frame(const media::Frame& frame) {
    const auto added = writer_.add(frame);
    if (dash_) add_to_dash(frame, added);
    if (frame.track == 0 && frame.kind == media::Kind::kVideo) {
        ++video_frames_;
        if (frame.keyframe) keyframe_dts_ = frame.dts;
        if (frame.keyframe && !has_captions_) has_captions_ = media::has_captions(frame);
    }
    if (added || !has_hls_) return;
    if (frame.track != 0) return renditions_.leave_out(audio_rendition(frame.track), added.error());
    lose_segment();
    failed("hls", paths().playlist(), added.error().text(), false);
}

void Output::add_to_dash(const media::Frame& frame, const base::Result<void>& added) {
    const auto also = writer_.add_to_tracks(frame);
    if (!also)
        dash_->leave_out(frame, also.error());
    else if (!added && options_.hls.use_fmp4)
        dash_->leave_out(frame, added.error());
}

// The main rendition cannot have the segment.
void Output::lose_segment() {
    renditions_.lose();
    has_hls_ = false;
    if (dash_) dash_->lose();
    writer_.lose();
    segmenter_.lost();
    const Segment* open = timeline_->open_segment();
    if (!open) return;
    // Players know a segment that has parts: it keeps its number, and is a gap.
    if (open->parts.empty()) return timeline_->abandon();
    const Part& last = open->parts.back();
    const SegmentTimeline::Id id = timeline_->close(last.start + last.duration - open->start, runtime::now_ms());
    if (!off_) renditions_.close(id);
}

void Output::end_part(const PartEnd& end) {
    writer_.end_part(end.next_video_dts);
    renditions_.end_part();
    if (dash_) dash_->end_part();
    if (timeline_->open_segment()) timeline_->end_part(end.part);
    show_parts();
    report_to_others();
}

void Output::show_parts() {
    renditions_.for_each([](Rendition& rendition) { rendition.show_part(); });
}

// Playlists with parts say how far those of the other variants are.
void Output::report_to_others() const {
    if (!group_ || !options_.hls.has_parts()) return;
    group_->for_each([this](Output& other) {
        if (&other != this && other.is_current()) other.show_parts();
    });
}

std::vector<const Rendition*> Output::listed() const {
    if (!renditions_.main()) return {};
    const std::vector<uint8_t> tracks = renditions_.playable();
    const Rendition* video = tracks.empty() ? nullptr : renditions_.video_apart();
    std::vector<const Rendition*> listed{video ? video : renditions_.main()};
    for (const uint8_t track : tracks)
        if (track != 0 || video) listed.push_back(renditions_.find(audio_rendition(track)));
    return listed;
}

std::vector<const Rendition*> Output::others(const Rendition& rendition) const {
    std::vector<const Rendition*> others = listed();
    if (std::erase(others, &rendition) == 0) return {};
    if (!group_) return others;
    group_->for_each([&](const Output& other) {
        if (&other != this && other.is_current()) std::ranges::move(other.listed(), std::back_inserter(others));
    });
    return others;
}

void Output::close_segment(const Closing& closing) {
    // That of a shorter segment would not be exact.
    if (closing.duration >= kMinRate)
        frame_rate_ = std::max(frame_rate_, 1e6 * video_frames_ / static_cast<double>(media::to_us(closing.duration)));
    writer_.end_part(closing.next_video_dts);
    if (!timeline_->open_segment()) return;  // a failure ended it
    const SegmentTimeline::Id id = timeline_->close(closing.duration, runtime::now_ms());
    segmenter_.set_longest(timeline_->longest());
    if (has_hls_) renditions_.close(id);
    if (dash_) dash_->close(id, frame_rate_);
    share_target();
    keep_below(options_.memory_limit / 2);
}

// It may have grown with the segment. Playlists of a group have one (draft-pantos-hls-rfc8216bis, 6.2.4).
void Output::share_target() {
    if (!group_) return;
    group_->for_each([this](Output& other) {
        if (&other == this || !other.is_current() || !other.timeline_->raise_target(target_s())) return;
        other.renditions_.for_each([](Rendition& rendition) { rendition.list_changed(); });
    });
}

// ---- The multivariant playlist

m3u8::Variant Output::variant() const {
    const std::vector<uint8_t> tracks = renditions_.playable();
    const Rendition* video = tracks.empty() ? nullptr : renditions_.video_apart();
    const Rendition& main = video ? *video : *renditions_.main();
    const auto view = main.view();
    m3u8::Variant out{
        main.paths().playlist(), view->bandwidth().highest, view->bandwidth().average, width_, height_, {}, 0};
    std::vector<const media::Track*> carried;
    if (writer_.has(media::Kind::kVideo, 0)) {
        carried.push_back(tracks_->video());
        out.frame_rate = frame_rate_;
    }
    if (writer_.has(media::Kind::kAudio, 0)) carried.push_back(tracks_->audio());
    if (!tracks.empty()) {
        std::vector<AudioMember> members;
        if (!video && main_has_audio_ && (tracks_->audio() || tracks_->empty()))
            members.push_back({0, tracks_->audio(), {}});
        uint64_t bandwidth = 0, average = 0;
        for (const uint8_t track : tracks) {
            if (track == 0 && !video) continue;
            const Rendition& rendition = *renditions_.find(audio_rendition(track));
            bandwidth = std::max(bandwidth, rendition.view()->bandwidth().highest);
            average = std::max(average, rendition.view()->bandwidth().average);
            members.push_back({track, tracks_->find(media::Kind::kAudio, track), rendition.paths().playlist()});
            carried.push_back(members.back().track);
        }
        // A player of such a track fetches the variant too.
        out.bandwidth += bandwidth;
        out.average_bandwidth += average;
        out.audio = describe_audio(members);
    }
    out.codecs = media::codecs_parameter(carried);
    out.bandwidth = announced_bandwidth(out.bandwidth, view->playlist().segments.size());
    out.captions = captions(*view);
    return out;
}

// shaka-player 5.2 looks for captions in three segments of what does not say that there are none. Where fewer are
// complete the open one is among them, and it fails, because that has no URI. Captions may begin later: who comes when
// there are enough looks for itself.
m3u8::Variant::Captions Output::captions(const View& view) const {
    constexpr auto kEnough = 3;
    using enum m3u8::Variant::Captions;
    if (has_captions_) return kSeen;
    const auto complete = std::ranges::count(view.playlist().segments, false, &m3u8::Segment::gap);
    return view.has_parts() && complete < kEnough ? kNone : kUnknown;
}

// It is written again when the tracks change or the rate rises, not with each segment.
void Output::write_master() {
    if (!on_disk()) return;
    if (!has_audio_group()) return master_file_.set({});
    m3u8::MultivariantPlaylist master{independent(), {variant()}};
    master.variants.front().average_bandwidth = 0;
    master_file_.set(write_multivariant(std::move(master), paths().master(), {}, {}));
}

// ---- Events of the renditions

void Output::segment_done(Rendition& rendition, SegmentTimeline::Id id, const std::string& path) {
    changed_.pulse();
    if (is_given_over_ && id >= given_end_) return;
    master_file_.retry();
    const Segment& segment = timeline_->at(id);
    const Entry& entry = *rendition.list().find(id);
    live::SegmentDone event;
    event.stream = options_.key;
    event.path = path;
    event.url = rendition.paths().segment_uri(entry.path);
    event.playlist_path = rendition.playlist_path();
    event.playlist_url = rendition.paths().playlist();
    event.duration_ms = media::to_ms(segment.duration);
    event.sequence = timeline_->sequence(id);
    event.publisher = publisher_;
    event.full_url = options_.hls.entry_prefix.empty() ? entry.path : event.url;
    base::log::info("HLS: {} segment {}, {} ms, {} bytes{}", options_.key.text(), entry.path, event.duration_ms,
                    entry.content.bytes, segment.discontinuity ? ", behind a discontinuity" : "");
    events_.notify(event);
}

void Output::segment_failed(const std::string& path, const base::Error& error) {
    failed("hls", path, error.text(), false);
}

// for_good: retrying is useless, whatever hls_on_error says.
void Output::failed(std::string_view output, const std::string& path, const std::string& reason, bool for_good) {
    const std::string& policy = options_.hls.on_error;
    runtime::warn_some(failure_log_, "{} of {} failed: {}", output == "hls" ? "HLS" : "DASH", options_.key.text(),
                       reason);
    events_.notify(live::OutputFailed{options_.key, std::string(output), path, reason});
    if (off_ || !stream_) return;
    if (policy == "disconnect") return disconnect_(options_.key, reason);
    if (!for_good && policy == "continue") return;
    runtime::warn_some(failure_log_, "HLS of {} is off until it is published again", options_.key.text());
    off_ = true;
    lose_segment();
}

// ---- Timers

void Output::pass_gaps() {
    if (off_) return;
    segmenter_.tick(runtime::now_ms());
    await_gap();
}

// While frames come it is due some time after each part, and nothing is to be done then.
void Output::await_gap() {
    if (const int64_t due_ms = segmenter_.gap_due_ms(); due_ms < INT64_MAX) gap_timer_.set(due_ms);
}

bool Output::lasts(int64_t now_ms) const {
    if (stream_) return true;
    const auto shown = view();
    if (!shown) return dash_ && now_ms < unpublished_ms_ + dash_->window_ms();
    int64_t length_us = shown->playlist().target_duration_s * 1'000'000;
    for (const auto& segment : shown->playlist().segments) length_us += segment.duration_us;
    return now_ms < unpublished_ms_ + length_us / 1'000;
}

void Output::tick(int64_t now_ms) {
    if (!has_begun_) return;
    if (!waiting_.empty() && now_ms - waiting_.front().arrival.monotonic_ms >= kMaxWaitingMs) feed_waiting();
    if (stream_ && !off_) segmenter_.tick(now_ms);
    timeline_->expire(now_ms);
    for_each_rendition([](Rendition& rendition) { rendition.forget(); });
    if (publishing()) renditions_.end_left_out();
    write_master();
    if (dash_) dash_->tick(now_ms);
    if (stream_ || unpublished_ms_ == 0 || now_ms - unpublished_ms_ < options_.rejoin_timeout_ms) return;
    segmenter_.end_gaps();
    for_each_rendition([](Rendition& rendition) { rendition.end_list(); });
    if (dash_) dash_->end();
}

bool Output::must_be_disposed(int64_t now_ms) const {
    const int64_t dispose_s = options_.dispose_s();
    return has_begun_ && !stream_ && unpublished_ms_ > 0 && dispose_s > 0 &&
           now_ms - unpublished_ms_ >= dispose_s * 1'000;
}

void Output::dispose() {
    if (!has_begun_) return;
    segmenter_.end_gaps();
    timeline_->expire(0, true);
    for_each_rendition([](Rendition& rendition) { rendition.dispose(); });
    write_master();  // there is none any more
    if (dash_) dash_->dispose();
}

bool Output::idle() const {
    bool idle = true;
    for_each_rendition([&](Rendition& rendition) { idle &= rendition.idle(); });
    return idle;
}

}  // namespace service::hls
