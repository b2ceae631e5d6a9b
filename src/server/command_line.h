#pragma once
// The command line. The .cpp is the one file that is compiled with exceptions: CLI11 needs them; none leaves it.

#include <cstdint>
#include <string>

namespace server {

struct CommandLine {
    enum class Action : uint8_t {
        kRun,
        kTest,    // check the configuration and exit
        kDoctor,  // look at the machine and exit; config_file may be empty: as with the defaults
        kPrint,   // print `text` and exit with 0
        kFail,    // print `text` to stderr and exit with 1
    };
    Action action = Action::kRun;
    std::string text;
    std::string config_file;  // empty: from the environment alone (-e)
};

// What the environment adds: SRS_CONFIG_FILE is a file in place of -c's, SRS_ENV_ONLY is as -e.
struct CommandLineEnvironment {
    const char* config_file = nullptr;
    const char* environment_only = nullptr;  // any value but "off"
};

// Of -e and a file, -e counts.
CommandLine parse_command_line(int argc, const char* const* argv, const CommandLineEnvironment& environment);

}  // namespace server
