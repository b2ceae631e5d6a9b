#pragma once
// The functions used of libavcodec, libavutil, libswresample and libswscale, by the libraries' own names. The libraries
// are loaded when audio or video is converted for the first time: linked, they and the many libraries that they need
// would cost every server megabytes and milliseconds at its start, and most servers never convert anything. From any
// thread; loading takes some 20 ms.

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
}

#include <string>

namespace convert {

struct Libav {
#define LIBAV_FUNCTION(library, name) decltype(&::name) name = nullptr;
#include "convert/libav/libav_functions.inc"
#undef LIBAV_FUNCTION
    std::string error{};  // the error of loading them; then nothing else here may be used
};

// Loads libavcodec, libavutil and libswresample on the first call.
const Libav& libav();

// libswscale, which only pictures need.
struct Swscale {
#define SWSCALE_FUNCTION(name) decltype(&::name) name = nullptr;
#include "convert/libav/swscale_functions.inc"
#undef SWSCALE_FUNCTION
    std::string error{};  // as of Libav
};

const Swscale& swscale();

// What a library says of the error.
std::string libav_error(int error);

}  // namespace convert
