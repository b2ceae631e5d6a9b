// What DASH leaves to another process of the server, and takes over from one.

#include <algorithm>
#include <utility>

#include "service/hls/dash/dash.h"

namespace service::hls {

LeftDash Dash::leave(SegmentTimeline::Id first, SegmentTimeline::Id end, LeftBlobs& blobs) {
    LeftDash left{.begin = begin_ > first && begin_ <= end ? timeline_->sequence(begin_) : 0};
    for (size_t number = 0; number < kTracks; ++number) {
        const Track& track = tracks_[number];
        if (!track.rendition) continue;
        LeftTrack& out = left.tracks.emplace_back();
        out.number = static_cast<uint8_t>(number);
        out.is_active = track.is_active;
        out.rendition = track.rendition->leave(first, end, blobs);
        const Description* last = nullptr;
        for (const Row& row : track.rows) {
            if (row.id < first || row.id >= end) continue;
            if (std::exchange(last, row.description.get()) != row.description.get())
                out.descriptions.push_back(row.description->track);
            out.rows.push_back(
                {timeline_->sequence(row.id), row.times, static_cast<uint32_t>(out.descriptions.size() - 1)});
        }
    }
    return left;
}

bool Dash::is_awaited() const {
    return std::ranges::any_of(tracks_, [this](const Track& track) {
        return !track.announced.empty() && resources_.is_awaited(options_.key.vhost, track.announced);
    });
}

void Dash::take_over(LeftDash left, const std::vector<std::shared_ptr<runtime::disk::PagedBytes>>& blobs) {
    if (on_disk()) file_.found();
    if (left.begin > 0) begin_ = timeline_->id_of(left.begin);
    for (LeftTrack& one : left.tracks) {
        Track& track = make_track(one.number);
        track.rendition->take_over(std::move(one.rendition), blobs);
        std::vector<std::shared_ptr<Description>> descriptions;
        for (mpd::Track& description : one.descriptions)
            descriptions.push_back(std::make_shared<Description>(Description{std::move(description)}));
        for (const LeftTrack::Row& row : one.rows)
            track.rows.push_back({timeline_->id_of(row.sequence), row.times, descriptions[row.description]});
        if (one.is_active) announce(track, timeline_->end());
    }
    changed();
}

// Of an earlier run: it names files that are gone.
void Dash::drop_left() {
    if (!on_disk()) return;
    file_.found();
    file_.set({});
}

}  // namespace service::hls
