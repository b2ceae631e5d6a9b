// A publisher's frames with hostile times: steps of a millisecond to hours, backwards, equal, beyond the range of 32
// bits; on several tracks, with new configurations, publications that end and begin, a clock that stands or leaps, a
// wall clock that is set, and a sink that loses segments. They pass the segmenter and the muxer of TS or MP4, and the
// segments go into a playlist, some of them as gaps. What must hold: small segments are limited, by the clock, in
// number; no frame is in two, and those of a track keep their order; held frames are limited; the playlist's numbers do
// not go back, its target duration does not change, no segment is longer than that, and none much longer than the
// longest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "convert/segments/segment_muxer.h"
#include "convert/segments/segmenter.h"
#include "media/aac.h"
#include "media/h264.h"
#include "service/hls/segments/segment_list.h"

namespace {

using convert::Segmenter;
using media::Codec;
using media::Frame;
using media::Kind;

constexpr uint8_t kSps[] = {0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x47, 0xfe, 0xc8};
constexpr uint8_t kPps[] = {0x68, 0xcb, 0x83, 0xcb, 0x20};
constexpr size_t kMaxSegments = 20;
// A frame may be 10 s before the others or 11 s behind them, and a segment ends up to a second behind its last frame.
constexpr int64_t kMaxBeyondLongestMs = 22'000;

class Checker final : public convert::SegmentSink, private convert::LaneSink {
  public:
    explicit Checker(uint8_t flags)
        : segmenter({.fragment_ms = flags & 1 ? 100 : 2'000,
                     .aof_ratio = flags & 2 ? 1.0 : 2.1,
                     .wait_keyframe = !(flags & 4),
                     .ts_floor = (flags & 8) != 0,
                     .max_bytes = flags & 16 ? 2'000u : 1'000'000u,
                     .part_ms = flags & 64 ? 333 : 0},
                    *this),
          muxer_(flags & 32 ? convert::make_mp4_muxer(*this) : convert::make_ts_muxer(*this)),
          list_(*service::hls::SegmentPaths::make({}, {"v", "live", "s"}, true), timeline) {}

    void open_segment(const convert::Opening& opening) override {
        CHECK(!open_);
        open_ = true;
        ++begun;
        payload_ = 0;
        CHECK(opening.wall_ms == fed_wall_ms);
        CHECK(opening.date_ms <= opening.wall_ms && opening.date_ms >= opening.wall_ms - Segmenter::kMaxHeldMs);
        discontinuities_ = timeline->discontinuities(timeline->end());
        timeline->set_part_target(segmenter.part_target());
        timeline->open({.start = opening.first.dts,
                        .wall_ms = opening.wall_ms,
                        .date_ms = opening.date_ms,
                        .discontinuity = opening.discontinuity});
        part_end_ = opening.first.dts;
        if (fail_next) return lose();
        muxer_->open(opening.tracks, opening.first, fresh_ || opening.tracks_changed || opening.discontinuity);
        fresh_ = false;
        list_.open(std::make_shared<const std::string>(muxer_->init(convert::kMp4Lanes)));
    }
    void open_gap(media::Time start) override {
        CHECK(!open_ && start >= part_end_);
        open_ = gap_ = true;
        payload_ = 0;
        discontinuities_ = timeline->discontinuities(timeline->end());
        timeline->open({.start = start, .gap = true});
        list_.open(nullptr);
        part_end_ = start;
    }
    void end_part(const convert::PartEnd& end) override {
        CHECK(open_);
        const convert::Part& part = end.part;
        CHECK(part.start == part_end_ && part.duration > media::Time(0));
        CHECK(part.duration <= segmenter.part_target());
        part_end_ += part.duration;
        muxer_->end_part(end.next_video_dts);
        CHECK(muxer_->memory() == 0);
        CHECK(!gap_ || part.gap);
        list_.open_segment()->parts.push_back(gap_ ? 0 : 1);
        CHECK(timeline->end_part(part) + 1 == timeline->next_part());
        if (fail_next && !gap_) lose();
    }
    void write_frame(const Frame& frame) override {
        CHECK(open_);
        uint64_t& last = written_[static_cast<size_t>(frame.kind)][frame.track];
        const uint64_t number = number_of(frame);
        CHECK(number > last);
        last = number;
        payload_ += frame.payload.size();
        if (!muxer_->add(frame) || fail_next) lose();
    }
    void close_segment(const convert::Closing& closing) override {
        CHECK(open_);
        open_ = gap_ = false;
        if (payload_ >= Segmenter::kSmallBytes) --begun;
        CHECK(closing.duration >= std::chrono::milliseconds(1));
        CHECK(media::to_ms(closing.duration) <= segmenter.longest_wait_ms() + kMaxBeyondLongestMs);
        muxer_->end_part(closing.next_video_dts);
        CHECK(muxer_->memory() == 0);
        const convert::Segment& segment = *timeline->open_segment();
        CHECK(segmenter.part_target() == media::Time(0) || part_end_ == segment.start + closing.duration);
        const uint64_t discontinuities = discontinuities_ + segment.discontinuity;
        const auto id = timeline->close(closing.duration, now.monotonic_ms);
        segmenter.set_longest(timeline->longest());
        list_.add(id, {.content = {.bytes = bytes_}, .in_memory = bytes_ % 5 != 0});
        bytes_ = 0;
        CHECK(timeline->discontinuities(timeline->end()) == discontinuities);
        check_playlist();
    }
    void check_playlist() {
        timeline->expire(now.monotonic_ms);
        (void)list_.forget();
        check_parts();
        CHECK(timeline->end() - timeline->listed() <= kMaxSegments);
        CHECK(timeline->listed() - timeline->kept() <= kMaxSegments);
        const auto playlist = list_.playlist(service::hls::SegmentList::Where::kAnywhere);
        CHECK(playlist.media_sequence >= first_);
        first_ = playlist.media_sequence;
        CHECK(playlist.discontinuity_sequence >= discontinuity_sequence_);
        discontinuity_sequence_ = playlist.discontinuity_sequence;
        const bool begins_with_gap = !playlist.segments.empty() && playlist.segments.front().gap;
        CHECK(!begins_with_gap || has_begun_ || timeline->at(timeline->id_of(first_)).gap);
        has_begun_ |= !playlist.segments.empty();
        CHECK(target_s_ == 0 || playlist.segments.empty() || playlist.target_duration_s == target_s_);
        target_s_ = playlist.segments.empty() ? 0 : playlist.target_duration_s;
        int64_t end_ms = INT64_MIN;
        for (const auto& segment : playlist.segments) {
            CHECK((segment.duration_us + 500'000) / 1'000'000 <= playlist.target_duration_s);
            CHECK(!segment.discontinuity || segment.date_ms >= end_ms);
            end_ms = segment.date_ms + segment.duration_us / 1'000;
        }
    }
    // Each part that is kept has a number of its own, and they follow each other.
    void check_parts() const {
        uint64_t next = timeline->parts_kept();
        for (auto id = timeline->kept(); id < timeline->end(); ++id) {
            const convert::Segment& segment = timeline->at(id);
            if (segment.parts.empty()) continue;
            CHECK(segment.first_part == next && list_.find(id)->parts.size() == segment.parts.size());
            next += segment.parts.size();
        }
        if (const auto* open = timeline->open_segment()) next += open->parts.size();
        CHECK(next == timeline->next_part());
    }
    void update_held() {
        const Frame* oldest = segmenter.oldest_held();
        if (!oldest) return held_since_ms_.reset();
        if (!held_since_ms_ || number_of(*oldest) != oldest_) held_since_ms_ = now.monotonic_ms;
        oldest_ = number_of(*oldest);
    }
    // Frames are held for a limited time, whatever their own times are.
    void tick() {
        segmenter.tick(now.monotonic_ms);
        update_held();
        CHECK(!held_since_ms_ || now.monotonic_ms - *held_since_ms_ < Segmenter::kMaxHeldMs);
    }
    // By the clock, with what is due meanwhile.
    void pass(int64_t ms) {
        for (const int64_t until_ms = now.monotonic_ms + ms; now.monotonic_ms < until_ms;) {
            now.monotonic_ms = std::min(until_ms, std::max(now.monotonic_ms + 1, segmenter.gap_due_ms()));
            const uint64_t parts = timeline->next_part();
            const bool is_due = now.monotonic_ms >= segmenter.gap_due_ms() && !segmenter.oldest_held();
            tick();
            CHECK(!is_due || timeline->next_part() > parts);
        }
    }
    // In its payload, in the order of publishing.
    static uint64_t number_of(const Frame& frame) {
        base::ByteReader r(frame.payload.bytes().subspan(5));
        return r.u64();
    }

    Segmenter segmenter;
    convert::Arrival now{1'000, 1'700'000'000'000};
    int64_t fed_wall_ms = 0;  // of the last frame
    uint64_t begun = 0;       // all but those that were not small in the end
    bool fail_next = false;
    const std::shared_ptr<convert::SegmentTimeline> timeline = std::make_shared<convert::SegmentTimeline>(
        convert::SegmentTimelineOptions{.window_ms = 6'000, .target_ms = 2'000, .max_segments = kMaxSegments});

  private:
    void put(convert::Lanes, convert::Pieces pieces) override {
        for (const auto bytes : pieces) bytes_ += bytes.size();
    }
    void lose() {
        fail_next = false;
        open_ = false;
        fresh_ = true;
        segmenter.lost();
        CHECK(!segmenter.open());
        (void)list_.abandon();
        const convert::Segment& open = *timeline->open_segment();
        if (open.parts.empty()) return timeline->abandon();
        const auto id = timeline->close(part_end_ - open.start, now.monotonic_ms);
        list_.add(id, {.parts = std::vector<uint64_t>(timeline->at(id).parts.size())});
    }

    std::unique_ptr<convert::SegmentMuxer> muxer_;
    bool open_ = false, gap_ = false, fresh_ = true;
    uint64_t discontinuities_ = 0;  // before the open segment
    media::Time part_end_{};        // of the last part

    std::optional<int64_t> held_since_ms_;
    uint64_t oldest_ = 0;  // the number of the oldest held frame
    uint64_t bytes_ = 0, payload_ = 0, first_ = 0, discontinuity_sequence_ = 0;
    bool has_begun_ = false;  // the playlist
    int64_t target_s_ = 0;    // of a playlist with segments
    uint64_t written_[3][media::kMaxTracks] = {};
    service::hls::SegmentList list_;
};

// A publisher, and its stream: the tracks are passed on as a stream does.
class Publisher {
  public:
    explicit Publisher(Checker& checker) : checker_(checker) {}

    void begin() {
        const uint32_t revision = tracks_->revision;
        tracks_ = base::make_ref<media::TrackSet>();
        tracks_->revision = revision;
        checker_.segmenter.begin();
    }
    void header(Kind kind, uint8_t track, uint8_t variant) {
        Frame frame = of(kind, track);
        frame.sequence_header = true;
        if (kind == Kind::kVideo) {
            std::vector<uint8_t> pps(kPps, kPps + sizeof(kPps));
            pps.push_back(variant);
            frame.payload = media::make_avc_config(kSps, pps).value();
        } else {
            frame.payload = media::make_aac_config(2, variant & 1 ? 44'100 : 48'000, variant & 2 ? 1 : 2);
        }
        update(frame);
    }
    void frame(Kind kind, uint8_t track, media::Time step, bool keyframe, bool discontinuity, size_t size) {
        media::Time& time = times_[kind == Kind::kVideo ? 0 : 1];
        constexpr media::Time kLimit = std::chrono::hours(24 * 365 * 100);
        time = std::clamp(time + step, -kLimit, kLimit);
        Frame frame = of(kind, track);
        frame.dts = time;
        frame.keyframe = keyframe && kind == Kind::kVideo;
        frame.discontinuity = discontinuity;
        std::vector<uint8_t> bytes = {0, 0, 0, static_cast<uint8_t>(9), static_cast<uint8_t>(keyframe ? 0x65 : 0x41)};
        const uint64_t number = ++number_;
        for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(number >> shift));
        if (kind == Kind::kAudio) bytes.resize(13 + size % 1'000);
        frame.payload = base::Slice::copy(bytes);
        update(frame);
        checker_.fed_wall_ms = checker_.now.wall_ms;
        checker_.segmenter.feed(frame, checker_.now);
        checker_.update_held();
    }

  private:
    static Frame of(Kind kind, uint8_t track) {
        Frame frame;
        frame.kind = kind;
        frame.codec = kind == Kind::kVideo ? Codec::kH264 : Codec::kAac;
        frame.track = track;
        return frame;
    }
    void update(const Frame& frame) {
        if (!tracks_->changes_state(frame)) return;
        tracks_ = base::make_ref<media::TrackSet>(*tracks_);
        tracks_->update(frame);
        checker_.segmenter.set_tracks(tracks_);
    }

    Checker& checker_;
    base::Ref<media::TrackSet> tracks_ = base::make_ref<media::TrackSet>();
    media::Time times_[2] = {};
    uint64_t number_ = 0;
};

// Signed; the unit makes of it anything from a microsecond to years.
media::Time next_step(base::ByteReader& r, uint8_t unit) {
    constexpr int64_t kUnitsUs[] = {1'000, 1, 40'000, 1'000'000, 9'000'000, 3'600'000'000, 95'443'717'000, 0};
    return media::from_us(static_cast<int8_t>(r.u8()) * kUnitsUs[unit % std::size(kUnitsUs)]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    base::ByteReader r(std::span(data, size));
    Checker checker(r.u8());
    Publisher publisher(checker);
    publisher.begin();
    const int64_t begun_ms = checker.now.monotonic_ms;
    while (r.left() > 0) {
        const uint8_t what = r.u8(), flags = r.u8();
        const auto kind = flags & 1 ? Kind::kVideo : Kind::kAudio;
        const auto track = static_cast<uint8_t>(flags & 2 ? flags >> 5 & 7 : 0);
        switch (what % 16) {
            default: {
                const media::Time step = next_step(r, what >> 5);
                const int count = what & 16 ? 1 + flags % 64 : 1;
                for (int i = 0; i < count; ++i)
                    publisher.frame(kind, track, step, (flags & 4) != 0, (flags & 8) != 0, flags * size);
                break;
            }
            case 10:
                checker.now.monotonic_ms += flags;
                checker.now.wall_ms += flags;
                break;
            case 11:
                checker.now.monotonic_ms += flags * 1'000;
                checker.now.wall_ms += media::to_ms(next_step(r, what >> 5));  // set to another time
                checker.now.wall_ms = std::max<int64_t>(checker.now.wall_ms, 1);
                break;
            case 12:
                publisher.header(kind, track, flags >> 3);
                break;
            case 13:
                checker.fail_next = flags & 1;
                if (flags & 2) checker.segmenter.release_held();
                break;
            case 14:
                if (flags & 1) checker.pass(flags * 100);
                checker.tick();
                checker.check_playlist();
                break;
            case 15:
                checker.segmenter.end();
                CHECK(checker.segmenter.held_bytes() == 0);
                if (flags & 2) checker.pass(flags * 100);
                if (flags & 4) checker.segmenter.end_gaps();
                publisher.begin();
                if (flags & 1) checker.timeline->begin(false);
                break;
        }
        CHECK(checker.segmenter.held_bytes() <= Segmenter::kMaxHeldBytes + 100'000);
        const int64_t elapsed_ms = checker.now.monotonic_ms - begun_ms;
        CHECK(static_cast<int64_t>(checker.begun) <= Segmenter::kMaxAtOnce + 1 + elapsed_ms / Segmenter::kMsPerSegment);
    }
    checker.segmenter.end();
    CHECK(!checker.segmenter.open() && checker.segmenter.held_bytes() == 0);
    return 0;
}
