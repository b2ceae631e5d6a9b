#pragma once
// Information about the server: versions, authors, features, clusters, and endpoints for tests of clients.

#include <vector>

#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class About {
  public:
    // It must outlive this.
    explicit About(const Context& context) : context_(context) {}

    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> versions(Request& request, Response& response);
    base::Result<void> authors(Request& request, Response& response);
    base::Result<void> features(Request& request, Response& response);
    base::Result<void> clusters(Request& request, Response& response);
    base::Result<void> test_request(Request& request, Response& response);
    base::Result<void> test_error(Request& request, Response& response);
    base::Result<void> test_redirect(Request& request, Response& response);

    const Context& context_;
};

}  // namespace service::api
