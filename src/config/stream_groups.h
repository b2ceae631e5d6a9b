#pragma once
// StreamGroups: which streams belong together as variants of one, by the lines of a directive (hls_variants). A line
// names streams of one application ("live/x_540p live/x_360p"), or has patterns: "live/[stream]_540p", "[stream]_*".
// The group is called as the common part of the names ("x"), or as what [stream] stands for. '*' stands for characters
// other than '_'. Where several patterns match a stream, the longest one counts. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "config/types.h"

namespace config {

class StreamGroups {
  public:
    static constexpr size_t kMaxLines = 100, kMaxMembers = 16;

    // An error says which line is wrong, and why.
    static base::Result<StreamGroups> make(const Commands& lines);

    struct Membership {
        base::StreamKey group;
        size_t rank = 0;          // of its name in the line
        bool by_bitrate = false;  // the line has a '*': the members' bitrates are their order
    };
    // Nothing: the stream is in no group.
    std::optional<Membership> find(const base::StreamKey& stream) const;
    // The streams of that group, in the line's order, as far as the line names them. Empty: there is no such group.
    std::vector<base::StreamKey> members(const base::StreamKey& group) const;
    // The groups one of whose members has the group's name, as "app/name".
    std::vector<std::string> groups_with_own_stream() const;

    bool empty() const { return lines_.empty(); }
    friend bool operator==(const StreamGroups&, const StreamGroups&) = default;

  private:
    struct Line {
        std::string app;                 // empty: patterns for any application
        std::string group;               // empty: the names are patterns
        std::vector<std::string> names;  // or what follows [stream]
        friend bool operator==(const Line&, const Line&) = default;
    };
    static base::Result<Line> read(const std::vector<std::string>& words);

    std::vector<Line> lines_;
};

}  // namespace config
