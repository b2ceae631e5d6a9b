#pragma once
// bandwidth: lets a visitor measure the connection to this server, for /players/check.html, by HTTP: bytes that cannot
// be compressed by GET, and bytes that are counted and dropped by POST. A check is begun by a page of this server, has
// an id that nobody can guess, is of one address, and is bounded in time and bytes; all checks together have a ceiling
// (check_book.h). Endpoints are on the ports of http_server and http_api, for everybody, while
// bandwidth_check { enabled on; }.

#include <cstdint>
#include <span>
#include <vector>

#include "config/snapshot.h"
#include "net/http/api_endpoint.h"
#include "net/http/http_router.h"
#include "protocol/prometheus/text.h"
#include "service/bandwidth/check_book.h"
#include "service/identity.h"
#include "service/module.h"

namespace service::bandwidth {

class Service : public WithoutClients {
  public:
    // Of one POST.
    static constexpr size_t kMaxBody = 1024 * 1024;

    // The identity must outlive it.
    Service(const config::SnapshotPtr& snapshot, const Identity& identity);

    base::Result<void> start() { return {}; }
    void reload(const config::SnapshotPtr& next);

    // The rows refer to it.
    std::vector<net::ApiEndpoint> rows();
    // The same, for http_server.
    std::vector<net::HttpRoute> routes();
    void write_metrics(prometheus::Text& text);

  private:
    using Handler = base::Result<void> (Service::*)(net::HttpRequest&, net::HttpResponse&);

    net::ApiEndpoint row(http::Method method, std::string pattern, std::string summary, std::string shape,
                         Handler handler);
    net::ApiEndpoint sending_row();
    net::ApiEndpoint receiving_row();
    base::Result<void> begin(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> show(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> end(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> send(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> receive(net::HttpRequest& request, net::HttpResponse& response);
    // Null: there is none of the caller's.
    CheckPtr find(const net::HttpRequest& request);
    base::Result<void> send_state(const Check& check, net::HttpResponse& response) const;
    base::Result<void> refuse(net::HttpResponse& response, int status, std::string_view text) const;
    base::Result<void> wait_until(int64_t ready_us, const Check& check) const;
    std::span<const uint8_t> block();

    const Identity& identity_;
    bool enabled_ = false;
    CheckBook book_;
    std::vector<uint8_t> random_;  // empty until it is needed
};

}  // namespace service::bandwidth
