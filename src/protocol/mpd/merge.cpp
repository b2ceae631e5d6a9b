#include "protocol/mpd/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace mpd {

namespace {

int64_t to_us(int64_t ticks, uint32_t timescale) {
    return ticks / timescale * 1'000'000 + ticks % timescale * 1'000'000 / timescale;
}

int64_t to_ticks(int64_t us, uint32_t timescale) {
    return us / 1'000'000 * timescale + us % 1'000'000 * timescale / 1'000'000;
}

std::string_view codec_of(const Track& track) {
    const std::string_view codecs = track.representations.front().codecs;
    return codecs.substr(0, codecs.find('.'));
}

bool is_same_set(const Track& a, const Track& b) {
    return a.video == b.video && a.main == b.main && a.language == b.language && a.label == b.label &&
           codec_of(a) == codec_of(b);
}

}  // namespace

void Merger::learn(const Period& period) {
    const Representation& one = period.tracks.front().representations.front();
    const Start start{period.start_us, period.start_us - to_us(one.offset, one.timescale)};
    const auto is_near = [&](const Start& other) { return std::abs(other.wall_us - start.wall_us) <= kSameStartUs; };
    if (std::ranges::any_of(starts_, is_near)) return;
    if (!starts_.empty() && starts_.front().wall_us <= start.wall_us &&
        std::abs(starts_[index_of(start.wall_us)].ahead_us - start.ahead_us) <= kSameTimesUs)
        return;
    starts_.insert(std::ranges::upper_bound(starts_, start.wall_us, {}, &Start::wall_us), start);
    if (starts_.size() > kMaxPeriods) starts_.erase(starts_.begin());
}

// What begins before the first one is in the first one.
size_t Merger::index_of(int64_t wall_us) const {
    const auto behind = std::ranges::upper_bound(starts_, wall_us, {}, &Start::wall_us);
    return behind == starts_.begin() ? 0 : static_cast<size_t>(behind - starts_.begin()) - 1;
}

// Its segments, by the middle of each.
void Merger::add(std::vector<Period>& out, const std::string& name, const Period& period, const Track& track,
                 const Representation& one) const {
    for (size_t i = 0; i < one.segments.size(); ++i) {
        const Segment& segment = one.segments[i];
        const int64_t middle = segment.time + segment.duration / 2 - one.offset;
        const size_t index = index_of(period.start_us + to_us(middle, one.timescale));
        Period& to = out[index];
        auto set = std::ranges::find_if(to.tracks, [&](const Track& other) { return is_same_set(other, track); });
        if (set == to.tracks.end())
            set = to.tracks.insert(set, {track.video, track.main, track.language, track.label, {}});
        const std::string id = fmt::format("{}-{}", name, one.id);
        auto own = std::ranges::find(set->representations, id, &Representation::id);
        if (own == set->representations.end()) own = set->representations.insert(own, Representation{.id = id});
        if (i == 0 || own->segments.empty() || own->start_number + own->segments.size() != one.start_number + i) {
            *own = one;
            own->id = id;
            own->offset += to_ticks(to.start_us - period.start_us, one.timescale);
            own->offset = std::max<int64_t>(0, own->offset);
            own->start_number += i;
            own->segments.clear();
        }
        own->segments.push_back(segment);
    }
}

Manifest Merger::merge(std::span<const Member> members) {
    Manifest all;
    if (members.empty()) return all;
    all = members.front().manifest;
    for (const Member& member : members) {
        all.publish_ms = std::max(all.publish_ms, member.manifest.publish_ms);
        all.update_ms = std::max(all.update_ms, member.manifest.update_ms);
        all.end_ms = std::max(all.end_ms, member.manifest.end_ms);
        for (const Period& period : member.manifest.periods) learn(period);
    }
    all.periods.assign(starts_.size(), {});
    for (size_t i = 0; i < starts_.size(); ++i)
        all.periods[i] = {fmt::format("p{}", starts_[i].wall_us / 1'000), starts_[i].wall_us, {}};
    for (const Member& member : members)
        for (const Period& period : member.manifest.periods)
            for (const Track& track : period.tracks)
                for (const Representation& one : track.representations)
                    add(all.periods, member.name, period, track, one);
    std::erase_if(all.periods, [](const Period& period) { return period.tracks.empty(); });
    std::erase_if(starts_, [&](const Start& start) {
        return std::ranges::find(all.periods, start.wall_us, &Period::start_us) == all.periods.end();
    });
    return all;
}

}  // namespace mpd
