#pragma once
// The command line of FFmpeg for an input and its outputs, in the order of SRS. Pure. With one output it is the same;
// several, a ladder, are the same output options one after another, and keyframes at common times.

#include <span>
#include <string>
#include <vector>

#include "service/tools/config.h"

namespace service::tools {

struct Output {
    const Encoder* encoder;  // null: none is configured, and it copies
    std::string url;
    bool copies = false;  // video and audio are passed on as they are, as FLV: of the encoder only perfile counts
};

struct FfmpegInput {
    std::string url;
    bool in_real_time = false;
    bool again_and_again = false;  // a file begins anew at its end
};

// log_level: info is FFmpeg's own default, and not stated. keyframe_interval: s, of the outputs together; 0: as the
// encoders choose. Input options are those of the first output, so that all must have the same: has_same_input().
std::vector<std::string> ffmpeg_arguments(const std::string& program, const std::string& log_level,
                                          const FfmpegInput& input, std::span<const Output> outputs,
                                          double keyframe_interval);

// Whether both can be outputs of one process: the same input options, and no filter with an input of its own.
bool has_same_input(const Encoder& a, const Encoder& b);

}  // namespace service::tools
