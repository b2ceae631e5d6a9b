#include "media/captions.h"

#include <algorithm>
#include <string_view>

namespace media {

namespace {

// user_identifier of ATSC and user_data_type_code of cc_data, in whatever unit the codec has for them. No emulation
// prevention byte can be within.
constexpr std::string_view kMark = "GA94\x03";
constexpr size_t kSearched = 2048;  // bytes; x264 puts 700 of its own before the first picture

}  // namespace

bool has_captions(const Frame& frame) {
    const auto bytes = frame.payload.bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kSearched));
    return text.find(kMark) != std::string_view::npos;
}

}  // namespace media
