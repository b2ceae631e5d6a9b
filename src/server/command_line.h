#pragma once
// The command line. The .cpp is the only file compiled with exceptions, which CLI11 needs; no exception leaves it.

#include <cstdint>
#include <string>

#include "server/why/question.h"

namespace server {

struct CommandLine {
    enum class Action : uint8_t {
        kRun,
        kTest,    // check the configuration and exit
        kDoctor,  // check the machine and exit; config_file may be empty: use the defaults
        kWhy,     // check a URL and exit; config_file as of kDoctor
        kAbout,   // print what this program is, and exit with 0
        kPrint,   // print `text` and exit with 0
        kFail,    // print `text` to stderr and exit with 1
    };
    Action action = Action::kRun;
    std::string text;
    std::string config_file;  // empty: configured by the environment alone (-e)
    why::Question why{};      // of kWhy
};

// Values of environment variables: SRS_CONFIG_FILE replaces the file of -c, SRS_ENV_ONLY is equivalent to -e.
struct CommandLineEnvironment {
    const char* config_file = nullptr;
    const char* environment_only = nullptr;  // any value but "off"
};

// If both -e and a file are given, -e takes precedence.
CommandLine parse_command_line(int argc, const char* const* argv, const CommandLineEnvironment& environment);

}  // namespace server
