#include "convert/segments/segment_muxer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "protocol/mp4/fragment.h"
#include "protocol/mp4/track.h"
#include "protocol/ts/elementary.h"
#include "protocol/ts/program.h"
#include "protocol/ts/segment_muxer.h"

namespace convert {

namespace {

using media::Frame;
using media::Kind;
using media::kMaxTracks;

// A lane for each audio track, with the first video track in that of the first one.
class TsSegmentMuxer final : public SegmentMuxer {
  public:
    explicit TsSegmentMuxer(LaneSink& sink) : sink_(sink) {}

    Lanes lane_of(Kind kind, uint8_t track) const override {
        return kTsLanes & ~(kTsLanes - 1) << (kind == Kind::kAudio ? track : 0);
    }

    void open(const media::TrackSet& tracks, const Frame&, bool fresh) override {
        for (uint8_t lane = 0; lane < kMaxTracks; ++lane) {
            if (fresh) set_tracks(tracks, lane);
            if (lanes_[lane]) lanes_[lane]->begin_segment();
        }
    }

    base::Result<void> add(const Frame& frame) override {
        if (frame.kind == Kind::kVideo && frame.track != 0) return {};
        const uint8_t lane = frame.kind == Kind::kAudio ? frame.track : 0;
        if (!lanes_[lane]) return {};
        Output out{sink_, lane_of(frame.kind, frame.track)};
        if (frame.track == 0) return lanes_[lane]->write(frame, out);
        Frame first = frame;
        first.track = 0;
        return lanes_[lane]->write(first, out);
    }

    // Players may begin with any part.
    void end_part(std::optional<media::Time>) override {
        for (uint8_t lane = 0; lane < kMaxTracks; ++lane) {
            if (!lanes_[lane]) continue;
            Output out{sink_, lane_of(Kind::kAudio, lane)};
            lanes_[lane]->flush(out);
            lanes_[lane]->begin_segment();
        }
    }

    bool has(Kind kind, uint8_t track) const override {
        if (kind == Kind::kVideo && track != 0) return false;
        const auto& lane = lanes_[kind == Kind::kAudio ? track : 0];
        if (!lane) return false;
        const ts::Program& program = lane->program();
        return (kind == Kind::kVideo ? program.video : program.audio)[0].codec != media::Codec::kNone;
    }

  private:
    struct Output final : ts::PacketSink {
        Output(LaneSink& to, Lanes lane_bit) : sink(to), lane(lane_bit) {}
        void write(std::span<const uint8_t> packets) override { sink.put(lane, {&packets, 1}); }
        LaneSink& sink;
        Lanes lane;
    };

    // A muxer is kept, so that the tables of changed tracks get a new version.
    void set_tracks(const media::TrackSet& all, uint8_t lane) {
        std::vector<media::Track> tracks;
        for (const media::Track& track : all.tracks)
            if (track.kind == Kind::kAudio ? track.index == lane : track.index == 0 && lane == 0)
                tracks.push_back(track.at_index(0));
        if (tracks.empty() && !lanes_[lane]) return;
        if (!lanes_[lane]) lanes_[lane] = std::make_unique<ts::SegmentMuxer>();
        lanes_[lane]->set_tracks(tracks);
    }

    LaneSink& sink_;
    std::array<std::unique_ptr<ts::SegmentMuxer>, kMaxTracks> lanes_;  // null: it has not had a track
};

// A segment consists of several fragments, so that few frames are buffered.
constexpr media::Time kFragment = std::chrono::seconds(1);
constexpr size_t kMaxFragmentBytes = 8 * 1024 * 1024;

// The first video track is lane 0, the audio tracks follow.
class Mp4SegmentMuxer final : public SegmentMuxer {
  public:
    explicit Mp4SegmentMuxer(LaneSink& sink) : sink_(sink) {}

    Lanes lane_of(Kind kind, uint8_t track) const override { return Lanes{1} << number(kind, track); }

    void open(const media::TrackSet& tracks, const Frame& first, bool fresh) override {
        begun_ = false;
        times_ = {};
        if (!fresh) return;
        bytes_ = 0;
        for (auto& lane : lanes_) lane.reset();
        for (const media::Track& track : tracks.tracks) {
            if (!track.header || (track.kind == Kind::kVideo && track.index != 0)) continue;
            const size_t lane = number(track.kind, track.index);
            auto builder = std::make_unique<mp4::FragmentBuilder>(media::Time{}, static_cast<uint32_t>(lane + 1));
            const bool is_first = first.keyframe && track.kind == Kind::kVideo;
            // Tracks that MP4 does not support are omitted.
            if (builder->set_header(*track.header, is_first ? &first : nullptr)) lanes_[lane] = std::move(builder);
        }
        leading_ = static_cast<size_t>(std::ranges::find_if(lanes_, [](auto& lane) { return lane != nullptr; }) -
                                       lanes_.begin());
    }

    base::Result<void> add(const Frame& frame) override {
        if ((frame.kind == Kind::kVideo && frame.track != 0) || frame.payload.empty()) return {};
        const size_t lane = number(frame.kind, frame.track);
        if (!lanes_[lane]) return {};
        if ((lane == leading_ && lanes_[lane]->span() >= kFragment) || bytes_ >= kMaxFragmentBytes)
            end_part(frame.kind == Kind::kVideo ? std::optional(frame.dts) : std::nullopt);
        bytes_ += frame.payload.size();
        return lanes_[lane]->add(frame);
    }

    void end_part(std::optional<media::Time> next_video_dts) override {
        bytes_ = 0;
        for (size_t lane = 0; lane < lanes_.size(); ++lane) {
            if (!lanes_[lane] || lanes_[lane]->empty()) continue;
            const auto front = mp4::segment_type();
            if (!std::exchange(begun_, true)) sink_.put(kMp4Lanes, {&front, 1});
            const mp4::CutOptions options{.sequence = ++sequence_, .next_video_dts = next_video_dts};
            const mp4::FragmentBytes fragment = lanes_[lane]->cut(options);
            add_times(lane);
            sink_.put(Lanes{1} << lane, fragment.pieces);
        }
    }

    bool has(Kind kind, uint8_t track) const override {
        return (kind == Kind::kAudio || track == 0) && lanes_[number(kind, track)] != nullptr;
    }

    std::string init(Lanes lanes) const override {
        std::vector<mp4::Track> tracks;
        for (size_t lane = 0; lane < lanes_.size(); ++lane)
            if (lanes_[lane] && (lanes >> lane & 1)) tracks.push_back(lanes_[lane]->tracks()[0]);
        const std::vector<uint8_t> bytes = mp4::init_segment(tracks);
        return {bytes.begin(), bytes.end()};
    }

    LaneTimes times(Lanes lane) const override { return times_[static_cast<size_t>(std::countr_zero(lane))]; }

    size_t memory() const override { return bytes_; }

  private:
    void add_times(size_t lane) {
        const mp4::FragmentBuilder::Extent extent = lanes_[lane]->extent();
        LaneTimes& times = times_[lane];
        if (times.timescale == 0) times = {lanes_[lane]->tracks()[0].timescale, extent.begin, extent.presented, 0};
        times.end = extent.end;
    }

    static size_t number(Kind kind, uint8_t track) { return kind == Kind::kVideo ? 0 : size_t{1} + track; }

    LaneSink& sink_;
    std::array<std::unique_ptr<mp4::FragmentBuilder>, kMaxTracks + 1> lanes_;
    std::array<LaneTimes, kMaxTracks + 1> times_{};
    size_t bytes_ = 0;    // of the frames since the last fragments
    size_t leading_ = 0;  // whose fragments tell when all end
    uint32_t sequence_ = 0;
    bool begun_ = false;  // the segment has bytes
};

base::Result<void> no_header(const media::Track& track) {
    return base::fail(base::Code::kProtocol,
                      fmt::format("{} without a sequence header", media::codec_info(track.codec).name));
}

}  // namespace

base::Result<void> ts_carries(const media::Track& track) {
    if (!ts::carries(track.codec))
        return base::fail(base::Code::kRefused,
                          fmt::format("MPEG-TS does not carry {}", media::codec_info(track.codec).name));
    const Frame* config = track.config();
    if (!config) return media::codec_info(track.codec).has_sequence_header ? no_header(track) : base::Result<void>();
    return track.kind == Kind::kVideo ? ts::VideoElementary().set_header(*config)
                                      : ts::AudioElementary().set_header(*config);
}

base::Result<void> mp4_carries(const media::Track& track) {
    if (!track.header) return no_header(track);
    TRY(mp4::make_track(1, *track.header));
    return {};
}

std::unique_ptr<SegmentMuxer> make_ts_muxer(LaneSink& sink) { return std::make_unique<TsSegmentMuxer>(sink); }

std::unique_ptr<SegmentMuxer> make_mp4_muxer(LaneSink& sink) { return std::make_unique<Mp4SegmentMuxer>(sink); }

}  // namespace convert
