#pragma once
// The Visitor for an HTTP request: what it plays, and tcUrl and param as SRS derives them from a request.

#include <string>

#include "net/access/gate.h"
#include "net/http/http_exchange.h"

namespace net {

// stream: as resolved. id: the request's session, or another one that the client will have.
Visitor http_visitor(const HttpRequest& request, std::string_view id, const base::StreamKey& stream, SessionType type);

// A play that was refused over HTTP never became a session of its own: adds it to the closed sessions.
void record_refusal(SessionTable& sessions, const Visitor& visitor, const base::Error& error);

// Answers a client that may not have what it asks for: 403, or 503 for kLimit; caches do not keep it. Of kCancelled
// nothing is sent: it is the handler's error.
base::Result<void> send_refusal(base::Error error, HttpResponse& response);

// The name used for the vhost lookup: ?vhost= and ?domain= take precedence over the Host field.
std::string_view vhost_name(const http::Request& request);

}  // namespace net
