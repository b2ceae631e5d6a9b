// FLV: each frame is written as a tag at once. The header is rewritten at the end; see protocol/flv/recording.h. Of
// each kind only the first track is recorded: players of FLV files that know others are rare.

#include <optional>

#include "protocol/flv/metadata.h"
#include "protocol/flv/recording.h"
#include "protocol/flv/tag.h"
#include "protocol/flv/writer.h"
#include "service/dvr/container.h"

namespace service::dvr {
namespace {

using base::Result;
using media::Frame;
using media::Kind;

class FlvFile final : public Container {
  public:
    FlvFile(runtime::disk::AppendFile& file, const ContainerOptions& options)
        : file_(file),
          metadata_(options.tracks ? options.tracks->metadata : std::nullopt),
          tracks_{config_of(options, Kind::kVideo), config_of(options, Kind::kAudio)},
          head_size_(flv::recording_head_size(about(), options.keyframes)),
          index_(options.keyframes) {}

    Result<Taken> begin_track(const Frame& header, const Frame&, media::Time time) override {
        if (header.track != 0) return Taken::kNo;
        std::optional<Frame>& track = tracks_[header.kind == Kind::kVideo ? 0 : 1];
        if (track) {
            bool same = track->codec == header.codec && (!header.sequence_header || track->payload == header.payload);
            return same ? Taken::kYes : Taken::kNewFile;
        }
        track = header;
        if (begun_ && header.sequence_header) TRY(put_tag(header, time));
        return Taken::kYes;
    }

    void set_metadata(const Frame& metadata) override { metadata_ = metadata; }

    Result<void> write(const Frame& frame, media::Time time) override {
        uint64_t position = TRY(put_tag(frame, time));
        if (frame.kind != Kind::kData && position > 0)
            index_.add(frame.kind, media::to_ms(time), frame.keyframe, position);
        return {};
    }

    Result<void> flush(int64_t) override { return {}; }

    Result<void> end() override {
        if (!begun_) return {};
        return file_.overwrite(0, flv::recording_head(about(), index_, file_.size(), head_size_));
    }

    uint64_t frames() const override { return index_.frames(); }
    int64_t duration_ms() const override { return index_.duration_ms(); }
    const std::string& refusal() const override { return refusal_; }

  private:
    static std::optional<Frame> config_of(const ContainerOptions& options, Kind kind) {
        const Frame* config = options.tracks ? options.tracks->config(kind) : nullptr;
        return config ? std::optional(*config) : std::nullopt;
    }
    static const Frame* pointer(const std::optional<Frame>& frame) { return frame ? &*frame : nullptr; }

    amf::Value about() const {
        return flv::recording_about(pointer(metadata_), pointer(tracks_[0]), pointer(tracks_[1]), kWriter);
    }

    // Writes the header and the known sequence headers: a player learns of both tracks at once.
    Result<void> begin(media::Time time) {
        begun_ = true;
        TRY(file_.append(flv::recording_head(about(), index_, 0, head_size_)));
        for (const auto& track : tracks_)
            if (track && track->sequence_header) TRY(put_tag(*track, time));
        return {};
    }

    // Returns the tag's offset; 0: the frame is too large for a tag and was skipped.
    Result<uint64_t> put_tag(const Frame& frame, media::Time time) {
        if (!begun_) TRY(begin(time));
        uint64_t position = file_.size();
        uint8_t head[flv::kTagHeaderSize + flv::kMaxBodyHeader];
        size_t header = flv::put_body_header(frame, head + flv::kTagHeaderSize);
        size_t body = header + frame.payload.size();
        if (body > flv::kMaxBodySize) return 0;
        auto body_size = static_cast<uint32_t>(body);
        flv::put_tag_header(head, flv::tag_type(frame.kind), body_size, static_cast<uint32_t>(media::to_ms(time)));
        uint8_t tail[flv::kPreviousTagSize];
        flv::put_previous_tag_size(tail, body_size);
        TRY(file_.append({head, flv::kTagHeaderSize + header}));
        if (!frame.payload.empty()) TRY(file_.append(frame.payload));
        TRY(file_.append(tail));
        return position;
    }

    runtime::disk::AppendFile& file_;
    std::optional<Frame> metadata_;
    std::optional<Frame> tracks_[2];  // video, audio: the headers with which they began
    bool begun_ = false;
    size_t head_size_;
    flv::RecordingIndex index_;
    // The only one there is.
    std::string refusal_ = "an FLV file has the first track of each kind only, an MP4 file has all";
};

}  // namespace

std::unique_ptr<Container> make_flv(runtime::disk::AppendFile& file, const ContainerOptions& options) {
    return std::make_unique<FlvFile>(file, options);
}

}  // namespace service::dvr
