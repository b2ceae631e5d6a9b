#pragma once
// Names of recordings: a pattern with variables (config::PathVariables), the names that clients chose, and the time.
// Whatever a stream is called, its file lies below the pattern's root: a name that cannot stand in a path as it is, is
// refused. Pure.

#include <cstdint>
#include <ctime>
#include <string>

#include "base/result.h"
#include "live/hub/stream.h"

namespace service::dvr {

inline constexpr std::string_view kGrowing = ".tmp";  // behind the name of a file that is being written

enum class Format : uint8_t { kFlv, kMp4 };

// By its extension: .mp4, else FLV.
Format format_of(std::string_view path);

// The directory in which all files of a pattern lie: what stands before its first variable, without the last name.
std::string root_of(std::string_view pattern);

// Whether a path is below a root, by its text: no ".." in it, and it begins with the root.
bool is_below(std::string_view path, std::string_view root);

// kRefused, with the reason: the stream's name is empty, "..", has a '/', a '\' or a control character, or is too long.
// An application may have several parts ("a/b"): directories in each other.
base::Result<void> check_names(const live::StreamKey& key);

// time: the calendar fields of wall_ms. sequence: of the file in its recording, from 0. kRefused also when the path
// becomes too long for a file system.
base::Result<std::string> recording_path(const std::string& pattern, const live::StreamKey& key, const std::tm& time,
                                         int64_t wall_ms, uint64_t sequence);

// "a/b.flv", 2: "a/b-2.flv". 0: as it is.
std::string numbered(const std::string& path, int number);

}  // namespace service::dvr
