#include "protocol/mp4/fragment.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace mp4 {

using base::Code;
using base::fail;
using base::put_u32;
using base::Result;
using media::Frame;
using media::Kind;

namespace {

constexpr uint32_t kLoneVideoMs = 40;

constexpr size_t kMfhdSize = 16;
constexpr size_t kTfdtSize = 20;
constexpr uint8_t kSeal[] = {0, 0, 0, 8, 'f', 'r', 'e', 'e'};
constexpr uint8_t kStyp[] = {0, 0, 0, 24, 's', 't', 'y', 'p', 'm', 's', 'd', 'h',
                             0, 0, 0, 0,  'm', 's', 'd', 'h', 'i', 's', 'o', '6'};

// tf_flags (8.8.7.1)
enum : uint32_t {
    kHasDescription = 0x2,
    kHasDefaultDuration = 0x8,
    kHasDefaultFlags = 0x20,
    kDefaultBaseIsMoof = 0x20000,
};
// tr_flags (8.8.8.1)
enum : uint32_t {
    kHasDataOffset = 0x1,
    kHasFirstFlags = 0x4,
    kHasDuration = 0x100,
    kHasSize = 0x200,
    kHasFlags = 0x400,
    kHasCts = 0x800,
};

uint8_t* put_head(uint8_t* p, size_t size, const char (&type)[5]) {
    p = put_u32(p, static_cast<uint32_t>(size));
    return put_u32(p, media::fourcc(type));
}

uint32_t flags_of(const Frame& frame) {
    if (frame.kind == Kind::kAudio || frame.keyframe) return kSyncSample;
    return kNonSyncSample | (frame.disposable ? kDisposableSample : 0);
}

// A temporal delimiter is not allowed in a sample (AV1 in ISOBMFF, 2.4).
base::Slice sample_bytes(const Frame& frame) {
    const base::Slice& p = frame.payload;
    if (frame.codec == media::Codec::kAv1 && p.size() > 2 && p[0] == 0x12 && p[1] == 0) return p.sub(2);
    return p;
}

uint32_t clamp_duration(int64_t ticks) { return static_cast<uint32_t>(std::clamp<int64_t>(ticks, 0, UINT32_MAX)); }

}  // namespace

std::span<const uint8_t> segment_type() { return kStyp; }

bool FragmentBuilder::has(Kind kind) const {
    return std::ranges::any_of(tracks_, [&](const Track& track) { return track.kind == kind; });
}

Result<bool> FragmentBuilder::set_header(const Frame& header, const Frame* keyframe) {
    if (header.track >= media::kMaxTracks) {
        return fail(Code::kRefused, fmt::format("track {} of a kind: at most {} are supported in MP4", header.track + 1,
                                                media::kMaxTracks));
    }
    if (const size_t n = number(header.kind, header.track); n != 0) {
        bool changed = TRY(extend_track(tracks_[n - 1], header, keyframe));
        CHECK(!changed || spent_ || buffers_[n - 1].samples.empty());
        return changed;
    }
    tracks_.push_back(TRY(make_track(static_cast<uint32_t>(tracks_.size()) + first_id_, header, keyframe)));
    buffers_.emplace_back();
    numbers_[static_cast<size_t>(header.kind)][header.track] = static_cast<uint8_t>(tracks_.size());
    return true;
}

bool FragmentBuilder::set_names(Kind kind, uint8_t index, std::string_view language, std::string_view label) {
    CHECK(has(kind, index));
    Track& track = tracks_[number(kind, index) - 1];
    std::string new_language = language_tag(language), new_label = track_label(label);
    if (new_label == unlabelled(track.kind)) new_label.clear();  // a reader could not tell it from none
    bool changed = new_language != track.language || new_label != track.label;
    track.language = std::move(new_language);
    track.label = std::move(new_label);
    return changed;
}

std::vector<uint8_t> FragmentBuilder::moov() const {
    std::vector<uint8_t> out;
    BoxWriter w(out);
    write_fragmented_moov(w, tracks_);
    return out;
}

int64_t FragmentBuilder::sample_time(const Track& track, const TrackBuffer& buffer, media::Time time,
                                     uint32_t usual) const {
    const int64_t published = media::to_ticks(std::max(media::Time(0), time - origin_), track.timescale);
    if (!buffer.any) return published;
    if (usual) {
        int64_t tolerance = std::max<int64_t>(usual / 2, track.timescale / 500);
        if (std::abs(published - buffer.next_ticks) <= tolerance) return buffer.next_ticks;
    }
    return std::max(published, buffer.last_ticks);
}

void FragmentBuilder::drop_spent() {
    if (!spent_) return;
    spent_ = false;
    bytes_ = count_ = 0;
    for (TrackBuffer& buffer : buffers_) {
        buffer.samples.clear();
        buffer.bytes = 0;
    }
}

Result<void> FragmentBuilder::add(const Frame& frame) {
    drop_spent();
    const size_t n = number(frame.kind, frame.track);
    const Track* track = n != 0 ? &tracks_[n - 1] : nullptr;
    if (!track || track->codec != frame.codec || frame.sequence_header) {
        return fail(Code::kOther, fmt::format("a {} {} has no track in this MP4", media::codec_info(frame.codec).name,
                                              frame.sequence_header ? "header" : "frame"));
    }
    base::Slice payload = sample_bytes(frame);
    if (payload.empty()) return {};
    if (bytes_ + payload.size() > kMaxBytes) {
        return fail(Code::kLimit, fmt::format("an MP4 fragment of more than {} bytes", kMaxBytes));
    }
    TrackBuffer& buffer = buffers_[n - 1];
    uint32_t usual = frame_ticks(*track, payload);
    int64_t ticks = sample_time(*track, buffer, frame.dts, usual);
    if (!buffer.samples.empty()) {
        Sample& last = buffer.samples.back();
        last.duration = buffer.last_duration = clamp_duration(ticks - last.ticks);
    }
    // The difference of the rounded times, so that the time of presentation is rounded once.
    int64_t cts = 0;
    if (frame.cts != media::Time(0))
        cts = media::to_ticks(frame.pts() - origin_, track->timescale) -
              media::to_ticks(frame.dts - origin_, track->timescale);
    if (count_ == 0) first_dts_ = last_dts_ = frame.dts;
    last_dts_ = std::max(last_dts_, frame.dts);
    bytes_ += payload.size();
    buffer.bytes += payload.size();
    ++count_;
    buffer.samples.push_back({std::move(payload), ticks, usual, flags_of(frame), static_cast<int32_t>(cts)});
    buffer.any = true;
    buffer.last_ticks = ticks;
    buffer.next_ticks = ticks + usual;
    return {};
}

void FragmentBuilder::set_last_duration(const Track& track, TrackBuffer& buffer, const CutOptions& options) {
    if (buffer.samples.empty()) return;
    Sample& last = buffer.samples.back();
    if (track.kind == Kind::kVideo && track.index == options.next_video_track && options.next_video_dts) {
        int64_t next = sample_time(track, buffer, *options.next_video_dts, 0);
        last.duration = buffer.last_duration = clamp_duration(next - last.ticks);
    } else if (last.duration == 0) {
        last.duration = buffer.last_duration ? buffer.last_duration : track.timescale * kLoneVideoMs / 1000;
    }
}

FragmentBuilder::Shape FragmentBuilder::shape_of(const Track& track, const TrackBuffer& buffer) {
    const auto& samples = buffer.samples;
    bool same_duration = true, same_flags = true, same_later_flags = true, any_cts = false;
    for (size_t i = 0; i < samples.size(); ++i) {
        same_duration &= samples[i].duration == samples[0].duration;
        same_flags &= samples[i].flags == samples[0].flags;
        same_later_flags &= i == 0 || samples[i].flags == samples[1].flags;
        any_cts |= samples[i].cts != 0;
    }
    uint32_t usual_flags = track.kind == Kind::kVideo ? kNonSyncSample : kSyncSample;
    Shape s;
    s.tfhd_flags = kDefaultBaseIsMoof;
    s.trun_flags = kHasDataOffset | kHasSize;
    if (track.entry != 1) s.tfhd_flags |= kHasDescription;
    // Not left to the default of trex: gohlslib, and so MediaMTX, takes a duration that is not here for 0.
    if (same_duration)
        s.tfhd_flags |= kHasDefaultDuration;
    else
        s.trun_flags |= kHasDuration;
    if (same_flags) {
        if (samples[0].flags != usual_flags) s.tfhd_flags |= kHasDefaultFlags;
    } else if (same_later_flags && samples[1].flags == usual_flags) {
        s.trun_flags |= kHasFirstFlags;
    } else {
        s.trun_flags |= kHasFlags;
    }
    if (any_cts) s.trun_flags |= kHasCts;
    s.sample_size = 4u * static_cast<size_t>(std::popcount(s.trun_flags & 0xf00));
    s.tfhd_size = 16 + 4u * static_cast<size_t>(std::popcount(s.tfhd_flags & 0xff));
    size_t trun = 20 + (s.trun_flags & kHasFirstFlags ? 4 : 0) + samples.size() * s.sample_size;
    s.traf_size = 8 + s.tfhd_size + kTfdtSize + trun;
    return s;
}

uint8_t* FragmentBuilder::put_traf(uint8_t* p, const Track& track, const TrackBuffer& buffer, const Shape& shape,
                                   uint32_t data_offset) {
    const auto& samples = buffer.samples;
    p = put_head(p, shape.traf_size, "traf");
    p = put_head(p, shape.tfhd_size, "tfhd");
    p = put_u32(p, shape.tfhd_flags);
    p = put_u32(p, track.id);
    if (shape.tfhd_flags & kHasDescription) p = put_u32(p, track.entry);
    if (shape.tfhd_flags & kHasDefaultDuration) p = put_u32(p, samples[0].duration);
    if (shape.tfhd_flags & kHasDefaultFlags) p = put_u32(p, samples[0].flags);
    p = put_head(p, kTfdtSize, "tfdt");
    p = put_u32(p, 0x01000000);
    auto begin = static_cast<uint64_t>(samples[0].ticks);
    p = put_u32(p, static_cast<uint32_t>(begin >> 32));
    p = put_u32(p, static_cast<uint32_t>(begin));
    p = put_head(p, shape.traf_size - 8 - shape.tfhd_size - kTfdtSize, "trun");
    p = put_u32(p, 0x01000000 | shape.trun_flags);
    p = put_u32(p, static_cast<uint32_t>(samples.size()));
    p = put_u32(p, data_offset);
    if (shape.trun_flags & kHasFirstFlags) p = put_u32(p, samples[0].flags);
    for (const Sample& sample : samples) {
        if (shape.trun_flags & kHasDuration) p = put_u32(p, sample.duration);
        p = put_u32(p, static_cast<uint32_t>(sample.payload.size()));
        if (shape.trun_flags & kHasFlags) p = put_u32(p, sample.flags);
        if (shape.trun_flags & kHasCts) p = put_u32(p, static_cast<uint32_t>(sample.cts));
    }
    return p;
}

FragmentBytes FragmentBuilder::cut(const CutOptions& options) {
    drop_spent();
    pieces_.clear();
    if (empty()) return {};
    Shape shapes[kMaxTracks];
    CHECK(buffers_.size() <= std::size(shapes));
    size_t moof = 8 + kMfhdSize;
    for (size_t i = 0; i < buffers_.size(); ++i) {
        if (buffers_[i].samples.empty()) continue;
        set_last_duration(tracks_[i], buffers_[i], options);
        shapes[i] = shape_of(tracks_[i], buffers_[i]);
        moof += shapes[i].traf_size;
    }
    head_.resize(moof + 8);
    pieces_.reserve(count_ + 2);
    pieces_.emplace_back(head_);
    if (options.sequence > 0) sequence_ = options.sequence;
    uint8_t* p = put_head(head_.data(), moof, "moof");
    p = put_head(p, kMfhdSize, "mfhd");
    p = put_u32(p, 0);
    p = put_u32(p, sequence_++);
    size_t data_offset = moof + 8;
    for (size_t i = 0; i < buffers_.size(); ++i) {
        if (buffers_[i].samples.empty()) continue;
        p = put_traf(p, tracks_[i], buffers_[i], shapes[i], static_cast<uint32_t>(data_offset));
        data_offset += buffers_[i].bytes;
        for (const Sample& sample : buffers_[i].samples) pieces_.push_back(sample.payload);
    }
    p = put_head(p, 8 + bytes_, "mdat");
    CHECK(p == head_.data() + head_.size());
    if (options.seal) pieces_.emplace_back(kSeal);
    spent_ = true;
    return {pieces_, head_.size() + bytes_ + (options.seal ? sizeof kSeal : 0)};
}

FragmentBuilder::Extent FragmentBuilder::extent() const {
    CHECK(buffers_.size() == 1 && spent_);
    const Sample &first = buffers_[0].samples.front(), &last = buffers_[0].samples.back();
    return {first.ticks, first.ticks + first.cts, last.ticks + last.duration};
}

}  // namespace mp4
