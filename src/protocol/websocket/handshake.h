#pragma once
// The server's side of the WebSocket handshake (RFC 6455, section 4.2). It offers no extensions. Of the
// subprotocols that a client offers it takes the first: browsers close a connection on which none is, and live media
// are sent the same under every name.

#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/http/message.h"

namespace websocket {

// Whether the request asks for a WebSocket upgrade, well-formed or not.
bool is_upgrade(const http::Request& request);
// base64(SHA-1(key + GUID)).
std::string accept_key(std::string_view key);

struct Refusal {
    int status = 0;  // 400, or 426 with "Sec-WebSocket-Version: 13"; 0: not refused
    std::string_view why;
};
// Checks the fields of an upgrade request.
Refusal check_upgrade(const http::Request& request);
// The first subprotocol that the client offers; empty: it offers none, or the first one is no token.
std::string_view offered_subprotocol(const http::Request& request);
// The head of the 101 answer to a valid request. date: see http::format_date; server: the Server field.
std::string upgrade_response(const http::Request& request, std::string_view date, std::string_view server);

}  // namespace websocket
