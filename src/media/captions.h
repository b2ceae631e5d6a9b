#pragma once
// Closed captions within video (CEA-608 and CEA-708, carried as ATSC A/53 part 4 says). Pure.

#include "media/frame.h"

namespace media {

// Whether the beginning of the video frame has some, where encoders put what is not picture.
bool has_captions(const Frame& frame);

}  // namespace media
