#pragma once
// What is called of libavcodec, libavutil and libswresample, by the libraries' own names. They are loaded when the
// first sound is to be converted: linked, they and the many libraries behind them would cost every server megabytes
// and milliseconds at its start, and most never convert anything. From any thread; loading takes some 20 ms.

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
    std::string error{};  // why they could not be loaded; then nothing else here may be used
};

// Loads them at the first call.
const Libav& libav();

}  // namespace convert
