#include "service/api/snapshots/newest_keyframe.h"

#include <optional>
#include <utility>

#include "runtime/loop/sync.h"

namespace service::api {

namespace {

using base::Code;
using base::fail;

class KeyframeSink final : public live::FrameSink {
  public:
    explicit KeyframeSink(base::Ref<live::Stream> stream) : stream_(std::move(stream)) { stream_->subscribe(*this); }
    ~KeyframeSink() { stream_->unsubscribe(*this); }
    KeyframeSink(const KeyframeSink&) = delete;

    void on_tracks(const base::Ref<media::TrackSet>& tracks) override { tracks_ = tracks; }
    void on_frame(const media::Frame& frame) override {
        if (frame.kind != media::Kind::kVideo || frame.track != 0 || !frame.keyframe) return;
        const media::Frame* header = tracks_->config(media::Kind::kVideo);
        found_ = NewestKeyframe{frame, header ? header->payload : base::Slice()};
        changed_.pulse();
    }
    void on_unpublish() override {
        is_over_ = true;
        changed_.pulse();
    }

    base::Result<NewestKeyframe> wait(runtime::Deadline deadline) {
        while (!found_ && !is_over_) TRY(changed_.wait_next(deadline));
        if (!found_) return fail(Code::kNotFound, "the publisher has left");
        return *std::move(found_);
    }

  private:
    const base::Ref<live::Stream> stream_;
    base::Ref<media::TrackSet> tracks_ = base::make_ref<media::TrackSet>();
    std::optional<NewestKeyframe> found_;
    bool is_over_ = false;
    runtime::Event changed_{"a keyframe"};
};

}  // namespace

base::Result<NewestKeyframe> newest_keyframe(base::Ref<live::Stream> stream, runtime::Deadline deadline) {
    if (!stream || !stream->published()) return fail(Code::kNotFound, "the stream is not published");
    KeyframeSink sink(stream);
    if (!stream->tracks()->video()) {
        auto known = stream->await(live::Awaited::kTracks, deadline);
        if (!known && known.error().code() != Code::kTimeout) return std::unexpected(std::move(known.error()));
        if (!stream->tracks()->video()) return fail(Code::kRefused, "the stream has no video");
    }
    auto found = sink.wait(deadline);
    if (!found && found.error().code() == Code::kTimeout)
        return fail(Code::kTimeout, "the stream has had no keyframe meanwhile");
    return found;
}

}  // namespace service::api
