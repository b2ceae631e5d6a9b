#pragma once
// The variables in paths and URLs: [vhost] [app] [stream] [seq] [timestamp] [duration] and, for the time, Go's
// reference date: [2006] [01] [02] [15] [04] [05] [999] for year, month, day, hour, minute, second, millisecond. Pure,
// except for the time zone. Does not access file systems; safe_part() makes names from clients safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace config {

class PathVariables {
  public:
    PathVariables& set(std::string_view name, std::string_view value);  // "vhost", "seq": without the brackets
    // wall_ms: milliseconds since 1970 ([999] is the last three digits). utc: its calendar fields are those of UTC, not
    // of the local time zone.
    PathVariables& set_time(int64_t wall_ms, bool utc);

    // Text in brackets that is not the name of a set variable is kept. Values are not expanded again.
    std::string expand(std::string_view pattern) const;

  private:
    std::vector<std::pair<std::string, std::string>> values_;
};

// The first [name] in the pattern, of letters, digits and _, that expand() would keep: "[streem]". names: of the
// variables besides those of the time. Empty: there is none.
std::string_view unknown_variable(std::string_view pattern, std::span<const std::string_view> names);

// A name chosen by a client, as one part of a path: no '/', no control characters, neither "." nor "..", not empty.
std::string safe_part(std::string_view name);

}  // namespace config
