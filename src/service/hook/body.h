#pragma once
// The JSON that hooks are told: field names and their order as SRS has them (INTERFACE.md, "Hooks"). Pure.

#include <string>

#include "live/hub/events.h"
#include "net/access/gate.h"
#include "net/hook_stats.h"

namespace service::hook {

// Of this server.
struct Identity {
    std::string server_id;
    std::string service_id;
    std::string cwd;
};

// "/live/livestream", with the vhost before it where that has a name.
std::string stream_url(std::string_view vhost, std::string_view app, std::string_view stream);

// on_connect, on_close, on_publish, on_unpublish, on_play, on_stop. traffic: of on_close.
std::string client_body(net::Hook hook, const Identity& identity, const net::Visitor& visitor,
                        const net::Traffic& traffic = {});
// publisher: who publishes, or did; of one that is not known, only vhost, app and stream are filled in.
std::string dvr_body(const Identity& identity, const net::Visitor& publisher, const live::RecordingDone& event);
std::string hls_body(const Identity& identity, const net::Visitor& publisher, const live::SegmentDone& event);

// on_hls_notify: the URL with its variables filled in.
std::string notify_url(std::string_view pattern, const Identity& identity, const net::Visitor& publisher,
                       std::string_view ts_url);

}  // namespace service::hook
