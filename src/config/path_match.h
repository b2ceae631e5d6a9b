#pragma once
// The way back from a path to the names that it was made of: whether a pattern with variables (path_variables.h) may
// have made it, and for which application and stream. Pure. Upper and lower case are the same, as some file systems
// have it.

#include <optional>
#include <string>
#include <string_view>

namespace config {

struct PathNames {
    std::string app;
    std::string stream;
    bool operator==(const PathNames&) const = default;
};

// [vhost] stands for `vhost`, [app] for one or more parts of the path, [stream] for a piece of one, every other
// variable for digits. A number that was put before the extension because the name was taken ("a-2.flv") does not
// count. The names are empty where the pattern does not have both, or where more than one way leads back.
std::optional<PathNames> match_path(std::string_view pattern, std::string_view path, std::string_view vhost);

}  // namespace config
