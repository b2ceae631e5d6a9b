#pragma once
// Maps environment variables to directives: SRS_ and the directive's path in capitals, joined by _. A row of rtmp also
// works without its block's name (SRS_LISTEN), a name that begins with srs_ without the second one (SRS_LOG_TANK), and
// one that begins with its block's name without the repetition (SRS_VHOST_SRT_TO_RTMP). Blocks with names of their own
// (ingest, transcode, stream_caster) have no variables that set something; those of vhost apply to every vhost.
// SRS_CONFIG_FILE, SRS_ENV_ONLY and SRS_DEVICE_IP set no directive, and are skipped.

#include <string>
#include <string_view>
#include <vector>

#include "config/directive.h"

namespace config {

// The preferred name first; empty when the row has none.
std::vector<std::string> environment_names(const Row& row);

struct EnvironmentEntry {
    std::string name;
    std::string value;
    const Row* row;                    // null: the name is unknown
    const Feature* missing = nullptr;  // it is of a block of this feature, whose rows are not known or have no names
};

// The SRS_ variables with a non-empty value among "NAME=value" lines.
std::vector<EnvironmentEntry> read_environment(const std::vector<std::string>& environment);

// All known names.
std::vector<std::string_view> known_environment_names();

}  // namespace config
