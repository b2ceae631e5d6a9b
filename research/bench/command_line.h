#pragma once
// The load tool's command line, by CLI11. The only file of it that is compiled with exceptions.

#include <variant>

#include "load/commands.h"
#include "load/rtc/commands.h"
#include "load/srt/commands.h"

namespace bench {

using Command =
    std::variant<int, load::PlayOptions, load::PublishOptions, load::LatencyOptions, load::ChurnOptions,
                 load::HlsOptions, load::LowLatencyHlsOptions, load::rtc::WhepOptions, load::rtc::WhipOptions,
                 load::rtc::RtcChurnOptions, load::srt::SrtPlayOptions, load::srt::SrtPublishOptions>;

// What is to be done, or the exit code where there is nothing to do (help was asked for, or the line is wrong).
Command parse_command_line(int argc, char** argv);

}  // namespace bench
