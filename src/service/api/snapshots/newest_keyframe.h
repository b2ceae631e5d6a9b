#pragma once
// The newest keyframe of a stream's first video track, with the decoder's configuration: the one that the stream keeps
// for its players, or else the next one. A stream that is published by RTP alone is converted to frames meanwhile.

#include "base/ref.h"
#include "live/hub/stream.h"
#include "media/frame.h"

namespace service::api {

struct NewestKeyframe {
    media::Frame frame{};
    base::Slice header{};  // empty: the codec has none
};

// Yields where the stream keeps none. kNotFound: it is not published, or its publisher has left. kRefused: it has no
// video. kTimeout: no keyframe has come until then.
base::Result<NewestKeyframe> newest_keyframe(base::Ref<live::Stream> stream, runtime::Deadline deadline);

}  // namespace service::api
