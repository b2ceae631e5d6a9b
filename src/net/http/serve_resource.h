#pragma once
// How requests for a resource are answered (resources.h), with its caching, ranges and conditions.

#include <memory>
#include <string>

#include "net/http/http_exchange.h"
#include "net/http/resources.h"

namespace net {

// Sends nothing if its file does not exist. is_private: only caches of one viewer may keep it.
base::Result<void> serve_resource(const ResourcePtr& resource, const std::string& path, bool is_private,
                                  const HttpRequest& request, HttpResponse& response);

// The request waits. One that grows is sent while it does, without a length, and whole whatever range is asked for; it
// breaks off if nothing comes for its limit_ms, or if it is withdrawn. Waiting requests are limited
// (max_waiting_requests): 503. Yields.
base::Result<void> serve_announced(const std::shared_ptr<Announced>& announced, const std::string& path,
                                   bool is_private, const HttpRequest& request, HttpResponse& response);

}  // namespace net
