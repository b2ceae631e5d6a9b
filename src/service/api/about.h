#pragma once
// Information about the server: versions, authors, features, clusters, and endpoints for tests of clients.

#include <functional>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "service/api/endpoint.h"
#include "service/api/envelope.h"

namespace service::api {

class About {
  public:
    using CurrentSnapshot = std::function<config::SnapshotPtr()>;
    // Identity and registry must outlive it.
    About(const Identity& identity, CurrentSnapshot snapshot, const live::Registry& registry)
        : identity_(identity), snapshot_(std::move(snapshot)), registry_(registry) {}

    std::vector<Endpoint> endpoints();

  private:
    using Request = net::HttpRequest;
    using Response = net::HttpResponse;
    base::Result<void> send(Response& response, Json data) const;
    base::Result<void> versions(Request& request, Response& response);
    base::Result<void> authors(Request& request, Response& response);
    base::Result<void> features(Request& request, Response& response);
    base::Result<void> clusters(Request& request, Response& response);
    base::Result<void> test_request(Request& request, Response& response);
    base::Result<void> test_error(Request& request, Response& response);
    base::Result<void> test_redirect(Request& request, Response& response);

    const Identity& identity_;
    CurrentSnapshot snapshot_;
    const live::Registry& registry_;
};

}  // namespace service::api
