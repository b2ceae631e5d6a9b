#pragma once
// The functions used of libavcodec, libavutil and libswresample, by the libraries' own names. The libraries are loaded
// when audio is converted for the first time: linked, they and the many libraries that they need would cost every
// server megabytes and milliseconds at its start, and most servers never convert audio. From any thread; loading takes
// some 20 ms.

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
}

#include <string>

namespace convert {

struct Libav {
#define LIBAV_FUNCTION(library, name) decltype(&::name) name = nullptr;
#include "convert/audio/libav_functions.inc"
#undef LIBAV_FUNCTION
    std::string error{};  // the error of loading them; then nothing else here may be used
};

// Loads them on the first call.
const Libav& libav();

}  // namespace convert
