#pragma once
// POST /gb/v1/publish/: a signalling server (SIP of GB/T 28181) announces a camera's stream, and is told where the
// camera is to send it.

#include "net/http/api_endpoint.h"
#include "service/identity.h"

namespace service::caster {

class Service;

// Both must outlive it.
net::ApiEndpoint gb_publish_row(Service& service, const Identity& identity);

}  // namespace service::caster
