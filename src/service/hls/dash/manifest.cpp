// The manifest of Dash.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "protocol/http/url.h"
#include "service/hls/dash/dash.h"

namespace service::hls {

namespace {

// Players that hear of a segment when it begins must ask often.
constexpr int64_t kLowLatencyUpdateMs = 500;
// A player of low latency is so many parts behind what is there.
constexpr int64_t kPartsBehind = 4;
// Players are so many segments behind otherwise.
constexpr int64_t kSegmentsBehind = 3;

}  // namespace

int64_t Dash::update_ms() const {
    const int64_t segment_ms = timeline_->target_s() * 1'000;
    const int64_t most = has_parts() ? std::min(segment_ms, kLowLatencyUpdateMs) : segment_ms;
    return std::min(most, static_cast<int64_t>(options_.dash.update_period * 1'000));
}

int64_t Dash::window_ms() const {
    return std::min(static_cast<int64_t>(options_.dash.timeshift * 1'000),
                    options_.dash.window_size * timeline_->target_s() * 1'000);
}

const mpd::Text& Dash::manifest() const {
    if (!text_) text_ = mpd::write(describe(manifest_path_));
    return *text_;
}

mpd::Manifest Dash::describe(const std::string& from) const {
    const int64_t segment_ms = timeline_->target_s() * 1'000;
    mpd::Manifest manifest;
    manifest.publish_ms = changed_ms_;
    manifest.update_ms = has_ended_ ? 0 : update_ms();
    manifest.depth_ms = window_ms();
    manifest.delay_ms = std::min(kSegmentsBehind * segment_ms, manifest.depth_ms);
    manifest.buffer_ms = segment_ms;
    if (has_parts() && timeline_->part_target() > media::Time(0)) {
        const int64_t part_us = media::to_us(timeline_->part_target());
        manifest.buffer_ms = part_us / 1'000;
        manifest.delay_ms = kPartsBehind * part_us / 1'000;
        manifest.low_latency = {segment_ms * 1'000, part_us, manifest.delay_ms};
    }
    manifest.time_url = http::relative_reference(from, directory_ + "time");
    add_periods(manifest, from);
    return manifest;
}

// The newest ones that can be fetched, by number and by time.
SegmentTimeline::Id Dash::first_listed() const {
    using Id = SegmentTimeline::Id;
    const auto size = static_cast<Id>(options_.dash.window_size);
    const auto is_pending = [&](Id id) {
        return std::ranges::any_of(tracks_, [&](const Track& track) {
            const Entry* entry = track.rendition ? track.rendition->list().find(id) : nullptr;
            return entry && !entry->is_there() && !entry->is_lost();
        });
    };
    Id end = timeline_->end();
    while (end > timeline_->kept() && is_pending(end - 1)) --end;
    const Id least = end - std::min<Id>(end, SegmentTimeline::kMinSegments);
    Id first = std::max({timeline_->kept(), begin_, end - std::min(end, size)});
    media::Time length{};
    for (Id id = first; id < end; ++id) length += timeline_->at(id).duration;
    const auto depth = media::from_ms(static_cast<int64_t>(options_.dash.timeshift * 1'000));
    while (first < least && length > depth) length -= timeline_->at(first++).duration;
    return first;
}

void Dash::add_periods(mpd::Manifest& manifest, const std::string& from) const {
    const SegmentTimeline::Id end = timeline_->end() + (timeline_->open_segment() ? 1 : 0);
    const auto segment = [&](SegmentTimeline::Id id) -> const Segment& {
        return id == timeline_->end() ? *timeline_->open_segment() : timeline_->at(id);
    };
    for (SegmentTimeline::Id first = first_listed(), next = first; first < end; first = next) {
        const convert::ClockPair& clock = segment(first).clock;
        while (next < end && segment(next).clock == clock) ++next;
        if (clock.wall_ms == 0) continue;
        mpd::Period period{fmt::format("p{}", clock.wall_ms), clock.wall_ms * 1'000, {}};
        for (const Track& track : tracks_) add_track(period, clock.start, track, first, next, from);
        if (period.tracks.empty()) continue;
        manifest.end_ms =
            clock.wall_ms + media::to_ms(segment(next - 1).start + segment(next - 1).duration - clock.start);
        manifest.periods.push_back(std::move(period));
    }
}

// Numbers run on without a gap: what is behind the last segment that is lost.
void Dash::add_track(mpd::Period& period, media::Time start, const Track& track, SegmentTimeline::Id first,
                     SegmentTimeline::Id end, const std::string& from) const {
    if (!track.rendition) return;
    const Description* last = nullptr;
    mpd::Representation out;
    SegmentTimeline::Id next = 0;
    const auto add = [&](SegmentTimeline::Id id, const convert::LaneTimes& times, const Description& description,
                         const std::string& map_path) {
        const int64_t length = times.end - times.begin;
        if (id != next || out.segments.empty()) {
            last = &description;
            out = description.track.representations.front();
            out.timescale = times.timescale;
            out.offset = media::to_ticks(start, times.timescale);
            out.start_number = timeline_->sequence(id);
            out.initialization = http::relative_reference(from, map_path);
            out.media = http::relative_reference(from, directory_) + out.id + "-$Number$.m4s";
        } else if (const int64_t gap = times.presented - (out.segments.back().time + out.segments.back().duration);
                   std::abs(gap) <= times.timescale / 10) {
            out.segments.back().duration += gap;
        }
        out.segments.push_back({times.presented, std::max<int64_t>(1, length)});
        next = id + 1;
    };
    for (const Row& row : track.rows) {
        const Entry* entry = track.rendition->list().find(row.id);
        if (row.id < first || row.id >= end || !entry || !entry->is_there()) continue;
        add(row.id, row.times, *row.description, entry->map_path);
    }
    const Entry* open = track.rendition->list().open_segment();
    // Before its first segment it has no lane: another process has left it.
    const auto times = track.lane != 0 ? writer_.tracks().times(track.lane) : convert::LaneTimes();
    if (has_parts() && end > timeline_->end() && track.is_active && open && times.timescale > 0 &&
        !track.announced.empty()) {
        convert::LaneTimes whole = times;
        const int64_t usual =
            out.segments.empty() ? timeline_->target_s() * times.timescale : out.segments.back().duration;
        whole.end = std::max(times.end, times.begin + usual);
        add(timeline_->end(), whole, *track.description, open->map_path);
    }
    if (out.segments.empty()) return;
    period.tracks.push_back(last->track);
    period.tracks.back().representations = {std::move(out)};
}

}  // namespace service::hls
