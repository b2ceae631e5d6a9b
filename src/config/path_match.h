#pragma once
// The reverse of path_variables.h: whether a pattern with variables may have produced a path, and for which application
// and stream. Pure. Comparison ignores case, because some file systems do.

#include <optional>
#include <string>
#include <string_view>

namespace config {

struct PathNames {
    std::string app;
    std::string stream;
    bool operator==(const PathNames&) const = default;
};

// [vhost] matches `vhost`, [app] one or more parts of the path, [stream] a piece of one part, every other variable
// digits. A number that was put before the extension because the name was taken ("a-2.flv") is ignored. The names are
// empty when the pattern does not contain both, or when the match is ambiguous.
std::optional<PathNames> match_path(std::string_view pattern, std::string_view path, std::string_view vhost);

}  // namespace config
