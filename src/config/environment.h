#pragma once
// Which directive an environment variable sets: SRS_ and the directive's path in capitals, joined by _. A row of rtmp
// goes without its block's name as well (SRS_LISTEN), a name that begins with srs_ without the second one
// (SRS_LOG_TANK), and one that begins with its block's name without the repetition (SRS_VHOST_SRT_TO_RTMP). Blocks that
// have names of their own (ingest, transcode, stream_caster) have no variables; vhost's set every vhost.
// SRS_CONFIG_FILE, SRS_ENV_ONLY and SRS_DEVICE_IP set no directive, and are passed over.

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
    const Row* row;  // null: nobody knows the name
};

// The SRS_ variables among "NAME=value" lines that have a value.
std::vector<EnvironmentEntry> read_environment(const std::vector<std::string>& environment);

// Every name there is.
std::vector<std::string_view> known_environment_names();

}  // namespace config
