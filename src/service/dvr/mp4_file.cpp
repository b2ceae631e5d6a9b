// MP4: written in fragments shorter than a second; finishing.h converts it to a plain file. See protocol/mp4.

#include "protocol/flv/recording.h"
#include "protocol/mp4/fragment.h"
#include "service/dvr/container.h"

namespace service::dvr {
namespace {

using base::Result;
using media::Frame;
using media::Kind;

// Limits by the frames' times, and by the clock if frames arrive more slowly.
constexpr media::Time kFragment = std::chrono::milliseconds(740);
constexpr int64_t kFragmentWaitMs = 500;
constexpr size_t kFragmentBytes = 16 * 1024 * 1024;

class Mp4File final : public Container {
  public:
    explicit Mp4File(runtime::disk::AppendFile& file) : file_(file) {}

    Result<Taken> begin_track(const Frame& header, const Frame& frame, media::Time) override {
        bool known = builder_.has(header.kind, header.track);
        if (known) TRY(cut(std::nullopt));
        auto changed = builder_.set_header(header, frame.keyframe ? &frame : nullptr);
        // MP4 could continue with another sample entry, but Chromium would not play the rest: see doc/decisions/073.
        if (changed && known && *changed) return Taken::kNewFile;
        if (changed) {
            moov_due_ |= *changed;
            return Taken::kYes;
        }
        refusal_ = changed.error().text();
        return known ? Taken::kNewFile : Taken::kNo;
    }

    void set_names(const media::Track& track) override {
        if (!builder_.has(track.kind, track.index)) return;
        moov_due_ |= builder_.set_names(track.kind, track.index, track.language, track.label);
    }

    void set_metadata(const Frame&) override {}

    Result<void> write(const Frame& frame, media::Time time) override {
        if (!builder_.has(frame.kind, frame.track)) return {};
        bool due = !builder_.empty() && (time - began_ >= kFragment || builder_.bytes() > kFragmentBytes);
        if (due) TRY(frame.kind == Kind::kVideo ? cut(time, frame.track) : cut(std::nullopt));
        if (builder_.empty()) began_ = time;
        Frame in_file = frame;
        in_file.dts = time;
        TRY(builder_.add(in_file));
        index_.add(frame.kind, media::to_ms(time), frame.keyframe, 0);
        return {};
    }

    Result<void> flush(int64_t now_ms) override {
        if (builder_.empty()) return {};
        if (waits_since_ms_ == 0) waits_since_ms_ = now_ms;
        if (now_ms - waits_since_ms_ < kFragmentWaitMs) return {};
        return cut(std::nullopt);
    }

    Result<void> end() override { return cut(std::nullopt); }

    size_t memory() const override { return builder_.bytes(); }
    uint64_t frames() const override { return index_.frames(); }
    int64_t duration_ms() const override { return index_.duration_ms(); }
    const std::string& refusal() const override { return refusal_; }

  private:
    Result<void> cut(std::optional<media::Time> next_video_dts, uint8_t next_video_track = 0) {
        waits_since_ms_ = 0;
        if (builder_.empty()) return {};
        if (file_.size() == 0) {
            TRY(file_.append(builder_.recording_head()));
        } else if (moov_due_) {
            TRY(file_.append(builder_.moov()));
        }
        moov_due_ = false;
        mp4::CutOptions options{.next_video_dts = next_video_dts, .next_video_track = next_video_track, .seal = true};
        for (auto piece : builder_.cut(options).pieces) TRY(file_.append(piece));
        return {};
    }

    runtime::disk::AppendFile& file_;
    mp4::FragmentBuilder builder_;
    bool moov_due_ = false;       // the tracks differ from those in the file
    media::Time began_{};         // time of the fragment's first frame in the file
    int64_t waits_since_ms_ = 0;  // by the clock; 0: not checked yet
    flv::RecordingIndex index_{0};
    std::string refusal_;
};

}  // namespace

std::unique_ptr<Container> make_mp4(runtime::disk::AppendFile& file, const ContainerOptions&) {
    return std::make_unique<Mp4File>(file);
}

}  // namespace service::dvr
