#include "service/hls/segments/segment_muxer.h"

#include <fmt/core.h>

#include <algorithm>

#include "protocol/mp4/fragment.h"
#include "protocol/mp4/track.h"
#include "protocol/ts/elementary.h"
#include "protocol/ts/program.h"
#include "protocol/ts/segment_muxer.h"

namespace service::hls {

namespace {

using media::Frame;
using media::Kind;

std::string names_of(const media::TrackSet& tracks) {
    std::string names;
    for (const media::Track& track : tracks.tracks)
        names += fmt::format("{}{}", names.empty() ? "" : " nor ", media::codec_info(track.codec).name);
    return names;
}

class TsSegmentMuxer final : public SegmentMuxer, private ts::PacketSink {
  public:
    explicit TsSegmentMuxer(ByteSink& sink) : sink_(sink) {}

    base::Result<void> open(const media::TrackSet& tracks, const Frame&, bool fresh) override {
        if (fresh) {
            // The muxer is kept, so that the tables of changed tracks get a new version.
            muxer_.set_tracks(tracks.tracks);
            if (muxer_.program().empty())
                return base::fail(base::Code::kRefused, fmt::format("TS carries neither {}", names_of(tracks)));
        }
        muxer_.begin_segment();
        return {};
    }

    base::Result<void> add(const Frame& frame) override { return muxer_.write(frame, *this); }

    // Players may begin with any part.
    void end_part(std::optional<media::Time>) override {
        muxer_.flush(*this);
        muxer_.begin_segment();
    }

    bool has(Kind kind) const override {
        const ts::Program& program = muxer_.program();
        return std::ranges::any_of(kind == Kind::kVideo ? program.video : program.audio,
                                   [](const auto& track) { return track.codec != media::Codec::kNone; });
    }

  private:
    void write(std::span<const uint8_t> packets) override { sink_.put(packets); }

    ByteSink& sink_;
    ts::SegmentMuxer muxer_;
};

// A segment consists of several fragments, so that few frames are buffered.
constexpr media::Time kFragment = std::chrono::seconds(1);
constexpr size_t kMaxFragmentBytes = 8 * 1024 * 1024;

class Mp4SegmentMuxer final : public SegmentMuxer {
  public:
    explicit Mp4SegmentMuxer(ByteSink& sink) : sink_(sink) {}

    base::Result<void> open(const media::TrackSet& tracks, const Frame& first, bool fresh) override {
        first_ = true;
        if (!fresh) return {};
        builder_ = std::make_unique<mp4::FragmentBuilder>();
        for (const media::Track& track : tracks.tracks) {
            // Tracks that MP4 does not support are omitted.
            if (track.header && track.index == 0)
                (void)builder_->set_header(*track.header, first.keyframe ? &first : nullptr);
        }
        if (builder_->tracks().empty())
            return base::fail(base::Code::kRefused, fmt::format("MP4 carries neither {}", names_of(tracks)));
        std::vector<uint8_t> bytes = builder_->init_segment();
        init_ = std::make_shared<const std::string>(bytes.begin(), bytes.end());
        return {};
    }

    base::Result<void> add(const Frame& frame) override {
        if (frame.track != 0 || !builder_->has(frame.kind) || frame.payload.empty()) return {};
        bool leads = frame.kind == Kind::kVideo || !builder_->has(Kind::kVideo);
        if ((leads && builder_->span() >= kFragment) || builder_->bytes() >= kMaxFragmentBytes)
            cut(frame.kind == Kind::kVideo ? std::optional(frame.dts) : std::nullopt);
        return builder_->add(frame);
    }

    void end_part(std::optional<media::Time> next_video_dts) override { cut(next_video_dts); }

    bool has(Kind kind) const override { return builder_ && builder_->has(kind); }
    std::shared_ptr<const std::string> init() const override { return init_; }
    size_t memory() const override { return builder_ ? builder_->bytes() : 0; }

  private:
    void cut(std::optional<media::Time> next_video_dts) {
        mp4::CutOptions options;
        options.styp = first_;
        options.next_video_dts = next_video_dts;
        for (auto bytes : builder_->cut(options).pieces) {
            sink_.put(bytes);
            first_ = false;
        }
    }

    ByteSink& sink_;
    std::unique_ptr<mp4::FragmentBuilder> builder_;
    std::shared_ptr<const std::string> init_;
    bool first_ = true;
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

std::unique_ptr<SegmentMuxer> make_ts_muxer(ByteSink& sink) { return std::make_unique<TsSegmentMuxer>(sink); }

std::unique_ptr<SegmentMuxer> make_mp4_muxer(ByteSink& sink) { return std::make_unique<Mp4SegmentMuxer>(sink); }

}  // namespace service::hls
