#pragma once
// POST /api/v1/signed_urls: the parameters that make a URL of a stream a signed one (net/access/signed_urls.h), for who
// may change the server: a page signs what it shares without getting the vhost's secret.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

struct SigningRequest {
    bool publishes = false;
    std::string vhost{}, app{}, stream{};
    int64_t seconds = 3600;
    std::string ip{};    // empty: for every address
    std::string name{};  // empty: for nobody in particular
};

// Parses a request body, a JSON object. The error text is for the client.
base::Result<SigningRequest> parse_signing_request(std::string_view body);

class UrlSigning {
  public:
    // It must outlive it.
    explicit UrlSigning(const Context& context) : context_(context) {}

    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> sign(Request& request, Response& response);

    const Context& context_;
};

}  // namespace service::api
