#pragma once
// Mount: the path template of live streams (http_remux.mount, "[vhost]/[app]/[stream].flv"), and the matching of
// request paths. The part before the first '/' is the host and does not belong to the path; the template's extension
// stands for that of every format. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace service::http_live {

enum class Format : uint8_t { kFlv, kAac, kMp3, kTs };

struct MountMatch {
    std::string app;     // may have several segments: "live/sub"
    std::string stream;  // one segment
    Format format = Format::kFlv;
};

class Mount {
  public:
    explicit Mount(std::string_view text);

    // The host that the template is for; empty: any ("[vhost]", or nothing before the '/').
    const std::string& host() const { return host_; }
    // path: decoded. Without [app] in the template, the app is the path's directory; without [stream] nothing matches.
    std::optional<MountMatch> match(std::string_view path) const;

  private:
    std::string host_;
    std::string pattern_;  // without extension: "/[app]/[stream]"
};

}  // namespace service::http_live
