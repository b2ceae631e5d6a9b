#pragma once
// The log that a request plays: format, options, and whether it is framed for WebSocket.

#include <string_view>

#include "convert/flv/to_flv.h"
#include "live/fanout/wire_encoder.h"
#include "service/http_live/mount.h"

namespace service::http_live {

// The options are those of FLV.
live::LogKey log_key(Format format, const convert::FlvOptions& options, bool websocket);
std::string_view content_type(Format format);
// For records of sessions: "http-ts", "ws-flv".
std::string_view protocol_name(Format format, bool websocket);

}  // namespace service::http_live
