#pragma once
// How a directive would be written, and where. Pure.

#include <string>
#include <string_view>

#include "config/snapshot.h"

namespace server::why {

// "vhost a.com { rtc { enabled on; } }" for "vhost/rtc/enabled"; "listen 1935;". For a configuration by the environment
// alone "SRS_VHOST_RTC_ENABLED=on". vhost: empty for directives outside of vhosts.
std::string config_line(const config::Snapshot& snapshot, std::string_view vhost, std::string_view path,
                        std::string_view value);
// "instead of conf/srs.conf:12", where the directive is given now; "in the vhost at conf/srs.conf:3", where the vhost
// begins, as far as that is known; empty: anywhere.
std::string where_to(const config::Snapshot& snapshot, std::string_view vhost, std::string_view path);

// Whether the value of a directive of the type on|off is on. vhost: null for those outside of vhosts. Unknown
// directives, of services that are not built in, are off.
bool is_on(const config::Snapshot& snapshot, const config::Vhost* vhost, std::string_view path);

}  // namespace server::why
