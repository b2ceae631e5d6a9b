#pragma once
// The Visitor that an HTTP request stands for: what it plays, and what SRS makes of a request for tcUrl and param.

#include <string>

#include "net/access/gate.h"
#include "net/http/http_exchange.h"

namespace net {

// vhost, app and stream as resolved. id: the request's session, or another that the client will go by.
Visitor http_visitor(const HttpRequest& request, std::string_view id, std::string_view vhost, std::string_view app,
                     std::string_view stream, SessionType type);

// A play that was refused over HTTP never became a session of its own: it is put among the closed ones.
void note_refusal(SessionTable& sessions, const Visitor& visitor, const base::Error& error);

// The name that a vhost is looked up by: ?vhost= and ?domain= come before the Host field.
std::string_view vhost_name(const http::Request& request);

}  // namespace net
