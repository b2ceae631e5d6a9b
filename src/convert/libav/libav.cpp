#include "convert/libav/libav.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace convert {

namespace {

// The version of the headers: another version has other structures.
void* open_library(const char* name, int version, std::string& error) {
    void* library = dlopen(fmt::format("{}.so.{}", name, version).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library && error.empty()) error = dlerror();
    return library;
}

template <class F>
void find(void* library, const char* name, F& function, std::string& error) {
    if (!library) return;
    function = reinterpret_cast<F>(dlsym(library, name));
    if (!function && error.empty()) error = fmt::format("{} does not exist", name);
}

Libav load() {
    Libav out;
    void* avcodec = open_library("libavcodec", LIBAVCODEC_VERSION_MAJOR, out.error);
    void* avutil = open_library("libavutil", LIBAVUTIL_VERSION_MAJOR, out.error);
    void* swresample = open_library("libswresample", LIBSWRESAMPLE_VERSION_MAJOR, out.error);
#define LIBAV_FUNCTION(library, name) find(library, #name, out.name, out.error);
#include "convert/libav/libav_functions.inc"
#undef LIBAV_FUNCTION
    // Its default is to write to standard error.
    if (out.error.empty()) out.av_log_set_level(AV_LOG_QUIET);
    return out;
}

Swscale load_swscale() {
    Swscale out;
    void* library = open_library("libswscale", LIBSWSCALE_VERSION_MAJOR, out.error);
#define SWSCALE_FUNCTION(name) find(library, #name, out.name, out.error);
#include "convert/libav/swscale_functions.inc"
#undef SWSCALE_FUNCTION
    return out;
}

}  // namespace

const Libav& libav() {
    static const Libav loaded = load();
    return loaded;
}

const Swscale& swscale() {
    static const Swscale loaded = load_swscale();
    return loaded;
}

std::string libav_error(int error) {
    char text[AV_ERROR_MAX_STRING_SIZE] = {};
    libav().av_strerror(error, text, sizeof text);
    return text;
}

}  // namespace convert
