#pragma once
// The JSON bodies sent to hooks: field names and their order are those of SRS (INTERFACE.md, "Hooks"); on_standby,
// on_start and on_alert are our own. Pure.

#include <string>

#include "live/hub/events.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "service/alert.h"
#include "service/hook/outbox_text.h"
#include "service/hook/stats.h"

namespace service::hook {

// Identifies this server.
struct Identity {
    std::string server_id;
    std::string service_id;
    std::string cwd;
};

// on_connect, on_close, on_publish, on_unpublish, on_play, on_stop. traffic: for on_close. clients: of the
// stream, publisher and players, with this one; for on_play and on_stop.
std::string client_body(Hook hook, const Identity& identity, const net::Visitor& visitor,
                        const net::Traffic& traffic = {}, size_t clients = 0);
// publisher: the current or last publisher; if it is not known, only vhost, app and stream are set.
std::string dvr_body(const Identity& identity, const net::Visitor& publisher, const live::RecordingDone& event);
std::string hls_body(const Identity& identity, const net::Visitor& publisher, const live::SegmentDone& event);
// on_standby. publisher: the one whose state changed.
std::string standby_body(const Identity& identity, const net::Visitor& publisher, const live::StandbyChange& change);

// on_start of a vhost: what an earlier run left, of which only the clients of that vhost count.
std::string start_body(const Identity& identity, const std::string& vhost, const SavedOutbox& left);

// on_alert of a vhost: of one of its streams, or of the server.
std::string alert_body(const Identity& identity, const std::string& vhost, const Alert& alert);

// on_hls_notify: the URL with its variables substituted.
std::string notify_url(std::string_view pattern, const Identity& identity, const net::Visitor& publisher,
                       std::string_view ts_url);

}  // namespace service::hook
