#pragma once
// Information about the server: versions, authors, features, clusters, and endpoints for tests of clients.

#include <functional>
#include <string_view>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class About {
  public:
    using CurrentSnapshot = std::function<config::SnapshotPtr()>;
    // Identity, registry and features must outlive it. features: those of the services that are built in.
    About(const Identity& identity, CurrentSnapshot snapshot, const live::Registry& registry,
          const std::vector<std::string_view>& features)
        : identity_(identity), snapshot_(std::move(snapshot)), registry_(registry), features_(features) {}

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
    const std::vector<std::string_view>& features_;
};

}  // namespace service::api
