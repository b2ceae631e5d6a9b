#include "service/dvr/recording.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/loop/clock.h"

namespace service::dvr {

using base::Code;
using base::Result;
using media::Frame;
using media::Kind;
using media::Time;

namespace {

// Retry interval after a disk error. Together with the time to notice a full disk, well under 10 s.
constexpr int64_t kRetryMs = 2'000;
// The first of consecutive failures is logged, and then one each minute.
constexpr uint64_t kLogEvery = 30;

}  // namespace

Recording::Recording(Archive& archive, RecordingOwner& owner, base::Ref<live::Stream> stream, RecordingOptions options,
                     bool requested)
    : archive_(archive),
      owner_(owner),
      stream_(std::move(stream)),
      options_(std::move(options)),
      requested_(requested),
      cutter_(options_.cut) {}

Recording::~Recording() { stop(); }

void Recording::start() {
    if (const auto* publisher = stream_->publisher()) publisher_ = publisher->facts().session_id;
    running_ = joining_ = true;
    stream_->subscribe(*this);
    joining_ = false;
}

void Recording::stop() {
    if (!running_) return;
    running_ = false;
    stream_->unsubscribe(*this);
    end_file(true);
}

void Recording::set_options(RecordingOptions options) {
    options_ = std::move(options);
    cutter_.set_options(options_.cut);
}

void Recording::on_unpublish() {
    stop();
    owner_.recording_ended(*this);
}

void Recording::flush(int64_t now_ms) {
    if (!file_) return;
    if (auto flushed = file_->container->flush(now_ms); !flushed) fail(flushed.error());
}

void Recording::file_vanished(const std::string& growing) {
    if (!file_ || file_->names.growing != growing) return;
    auto removed = base::fail(Code::kNotFound, growing + " was removed while it grew");
    fail(removed.error());
}

void Recording::on_frame(const Frame& frame) {
    if (joining_ && !options_.pre_roll) return;
    if (retry_at_ms_ > 0) {
        if (runtime::now_ms() >= retry_at_ms_) return record_from_gop(frame);
        ++archive_.counters().frames_lost;
        return;
    }
    record(frame);
}

Recording::Track& Recording::track_of(const Frame& frame) { return tracks_.at(frame.kind, frame.track); }

void Recording::on_tracks(const base::Ref<media::TrackSet>& tracks) {
    const bool new_metadata =
        tracks->metadata && (!stream_tracks_ || stream_tracks_->metadata_revision != tracks->metadata_revision);
    stream_tracks_ = tracks;
    if (new_metadata && file_) file_->container->set_metadata(*tracks->metadata);
    for (const media::Track& track : tracks->tracks) {
        Track& known = tracks_.at(track.kind, track.index);
        if (known.revision == track.revision) continue;
        known.revision = track.revision;
        known.begun = known.refused = false;
    }
    if (!file_) return;
    // A name may change while the track's revision stays.
    for (const media::Track& track : tracks->tracks)
        if (tracks_.at(track.kind, track.index).begun) file_->container->set_names(track);
}

// After an error, records from the newest keyframe on.
void Recording::record_from_gop(const Frame& frame) {
    retry_at_ms_ = 0;
    restart_timeline();
    if (stream_->gop().empty()) return record(frame);
    for (const Frame& earlier : stream_->gop()) {
        if (retry_at_ms_ > 0) return;
        if (!earlier.sequence_header && earlier.kind != Kind::kData) record(earlier);
    }
}

void Recording::restart_timeline() { timeline_ = live::Timeline(); }

Time Recording::time_of(const Frame& frame) {
    if (options_.jitter != config::TimeJitter::kFull) return frame.dts;
    if (frame.kind == Kind::kData) return timeline_.companion_time(frame.dts);
    return timeline_.correct(frame.kind, frame.track, frame.dts).time;
}

// Audio may be slightly older than the keyframe at which its file began.
Time Recording::in_file(Time time) const {
    if (options_.jitter == config::TimeJitter::kOff) return std::max(time, Time(0));
    return std::max(time - base_, Time(0));
}

void Recording::record(const Frame& frame) {
    const Time time = time_of(frame);
    if (frame.kind == Kind::kData) {
        if (!file_) return;
        if (auto written = file_->container->write(frame, std::max(in_file(time), last_)); !written)
            fail(written.error());
        return;
    }
    auto recorded = put(frame, time);
    if (!recorded) fail(recorded.error());
}

Result<void> Recording::put(const Frame& frame, Time time) {
    Track& track = track_of(frame);
    // Another video track begins with a keyframe of its own.
    const bool decodable = track.begun || frame.track == 0 || frame.kind != Kind::kVideo || frame.keyframe;
    if (!decodable) return {};
    if (file_ && !track.begun && !TRY(offer(frame, in_file(time)))) cutter_.file_must_end();
    Step step = cutter_.step(frame, time, stream_->begins_at_keyframes());
    if (step == Step::kDrop) return {};
    if (step == Step::kBegin) TRY(begin_file(time));
    last_ = in_file(time);
    if (!track.begun) {
        if (!TRY(offer(frame, last_)))
            return base::fail(Code::kOther, "a new file does not take the header it began with");
    }
    if (track.refused) return {};
    TRY(file_->container->write(frame, last_));
    ++archive_.counters().frames;
    if (failures_ > 0) on_success();
    return {};
}

// False: the file cannot continue with this track's header.
Result<bool> Recording::offer(const Frame& frame, Time time) {
    Track& track = track_of(frame);
    track.begun = true;
    const media::Track* known = stream_tracks_->find(frame.kind, frame.track);
    if (!known || !known->header) return true;
    switch (TRY(file_->container->begin_track(*known->header, frame, time))) {
        case Taken::kYes:
            file_->container->set_names(*known);
            return true;
        case Taken::kNewFile:
            track.begun = false;
            return false;
        case Taken::kNo:
            track.refused = true;
            refuse(frame);
            return true;
    }
    return true;
}

Result<void> Recording::begin_file(Time time) {
    end_file(true);
    std::string path = TRY(recording_path(options_.path, stream_->key(), base::wall_ms(), options_.utc, sequence_));
    ++sequence_;
    const ContainerOptions container{.keyframes = options_.keyframes, .tracks = stream_tracks_};
    tracks_.for_each([](Track& track) { track.begun = track.refused = false; });
    base_ = time;
    file_ = archive_.begin(stream_->key(), path, container);
    file_->publisher = publisher_;
    return {};
}

void Recording::end_file(bool whole) {
    if (file_) archive_.end(std::move(file_), whole);
    file_.reset();
}

// An error of the open file, or of opening one. The stream continues.
void Recording::fail(const base::Error& error) {
    std::string path = file_ ? file_->names.path : options_.path;
    bool worth_a_line = failures_ % kLogEvery == 0;
    if (worth_a_line)
        runtime::error_some(archive_.failure_log(), "dvr: {}: {}: {}; another file begins in {} s", key().text(), path,
                            error.describe(), kRetryMs / 1000);
    if (failures_++ == 0) archive_.report_failed(key(), path, error.text());
    end_file(false);
    cutter_.file_ended();
    retry_at_ms_ = runtime::now_ms() + kRetryMs;
}

// Data has been written to the disk again.
void Recording::on_success() {
    if (!file_ || file_->file->written() == 0) return;
    base::log::trace("dvr: {}: recording goes on after {} failures", key().text(), failures_);
    failures_ = 0;
    archive_.report_recovered(key());
}

void Recording::refuse(const Frame& frame) {
    Track& track = track_of(frame);
    if (std::exchange(track.reported, true)) return;
    std::string reason = file_->container->refusal();
    runtime::error_some(archive_.failure_log(), "dvr: {}: {} is not recorded: {}", key().text(),
                        media::codec_info(frame.codec).name, reason);
    archive_.report_failed(key(), file_->names.path, reason);
}

}  // namespace service::dvr
