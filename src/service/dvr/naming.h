#pragma once
// Names of recordings, made from a pattern with variables (config::PathVariables), the names chosen by clients, and the
// time. The file always lies below the pattern's root: a stream name that cannot be part of a path unchanged is
// refused. Pure.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "live/hub/stream.h"

namespace service::dvr {

inline constexpr std::string_view kGrowing = ".tmp";  // suffix of a file that is being written

enum class Format : uint8_t { kFlv, kMp4 };

// By the extension: .mp4, otherwise FLV.
Format format_of(std::string_view path);

// The directory that contains all files of a pattern: the part before its first variable, without the last name.
std::string root_of(std::string_view pattern);

// Whether a path is below a root, compared as text: it contains no ".." and begins with the root.
bool is_below(std::string_view path, std::string_view root);

// kRefused, with the reason: the stream's name is empty, "..", contains a '/', a '\' or a control character, or is too
// long. An application may have several components ("a/b"), which become nested directories.
base::Result<void> check_names(const live::StreamKey& key);

// utc: the calendar fields of wall_ms are those of UTC. sequence: number of the file in its recording, from 0. kRefused
// also if the path is too long for a file system.
base::Result<std::string> recording_path(const std::string& pattern, const live::StreamKey& key, int64_t wall_ms,
                                         bool utc, uint64_t sequence);

// "a/b.flv", 2: "a/b-2.flv". 0: unchanged.
std::string numbered(const std::string& path, int number);

}  // namespace service::dvr
