#pragma once
// Rows of the API's route table (net/http/api_endpoint.h), and the list of the rows whose handlers are member functions
// of one object.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "net/http/api_endpoint.h"

namespace service::api {

using Endpoint = net::ApiEndpoint;
using Parameter = net::ApiParameter;
using Access = net::ApiAccess;
using Request = net::HttpRequest;
using Response = net::HttpResponse;

template <class Owner>
class Endpoints {
  public:
    using Handler = base::Result<void> (Owner::*)(Request&, Response&);

    // The owner must outlive the rows. access: of all rows.
    explicit Endpoints(Owner& owner, Access access = Access::kRead) : owner_(owner), access_(access) {}

    // shape: as of Endpoint. The row may be completed until the next one is added.
    Endpoint& add(http::Method method, std::string path, std::string summary, std::string shape, Handler handler) {
        return rows_.emplace_back(Endpoint{.methods = {method},
                                           .pattern = std::move(path),
                                           .summary = std::move(summary),
                                           .access = access_,
                                           .handler = std::bind_front(handler, &owner_),
                                           .shape = std::move(shape)});
    }
    Endpoint& get(std::string path, std::string summary, std::string shape, Handler handler) {
        return add(http::Method::kGet, std::move(path), std::move(summary), std::move(shape), handler);
    }
    std::vector<Endpoint> take() { return std::move(rows_); }

  private:
    Owner& owner_;
    const Access access_;
    std::vector<Endpoint> rows_;
};

}  // namespace service::api
