#include "media/b_frame.h"

#include "media/access_unit.h"
#include "media/h264.h"
#include "media/nalu.h"

namespace media {
namespace {

// A larger jump back is the start of another publisher, not a reordered frame.
constexpr Time kMaxReorder = std::chrono::milliseconds(2'000);

bool begins_with_b_slice(std::span<const uint8_t> payload, int length_size) {
    NaluReader reader(payload, length_size);
    while (auto nalu = reader.next()) {
        uint8_t type = h264::nalu_type(*nalu);
        if (type >= h264::kSlice && type <= h264::kIdr) return is_h264_b_slice(*nalu);
    }
    return false;
}

}  // namespace

bool is_h264_b_slice(std::span<const uint8_t> slice) { return h264_slice_type(slice) == 1; }

bool BFrameDetector::is_b_frame(const Frame& frame, int length_size) {
    if (frame.keyframe) {
        latest_pts_ = frame.pts();
        return false;
    }
    if (frame.codec == Codec::kH264 && begins_with_b_slice(frame.payload, length_size)) return true;
    if (frame.pts() < latest_pts_ && frame.pts() > latest_pts_ - kMaxReorder) return true;
    latest_pts_ = frame.pts();
    return false;
}

}  // namespace media
