#pragma once
// TrackWatch: waits until the tracks of a stream are known, for a description. It is a consumer of frames, so a stream
// that is published as RTP is converted while it lives.

#include "live/hub/stream.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/sync.h"

namespace service::rtsp {

class TrackWatch final : private live::FrameSink {
  public:
    explicit TrackWatch(base::Ref<live::Stream> stream);
    ~TrackWatch();

    live::Stream& stream() const { return *stream_; }
    // Waits until audio and video are known with their headers, or, where one of them does not come, kSettleMs longer.
    // kTimeout: no track is known after kLimitMs; kNotFound: the publisher left. Yields.
    base::Result<base::Ref<media::TrackSet>> wait();

  private:
    static constexpr int64_t kSettleMs = 700, kLimitMs = 5'000;
    // A stream that has sent so many frames has sent all its headers.
    static constexpr uint64_t kSettledFrames = 30;

    void on_tracks(const base::Ref<media::TrackSet>& tracks) override;
    void on_frame(const media::Frame&) override {}
    void on_unpublish() override;

    base::Ref<live::Stream> stream_;
    base::Ref<media::TrackSet> tracks_;
    runtime::Event changed_{"a stream's tracks"};
};

}  // namespace service::rtsp
