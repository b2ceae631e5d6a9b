#pragma once
// Vhosts, streams and clients, with their traffic. Shapes: INTERFACE.md, "HTTP API". A list of thousands is produced in
// pieces, and other coroutines may run in between.

#include <vector>

#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

// The fields of a client. hides_secrets: without the queries of its URLs.
Json session_json(const net::SessionView& session, bool hides_secrets);

class Verdicts;

class Statistics {
  public:
    // Both must outlive it.
    Statistics(const Context& context, Verdicts& verdicts) : context_(context), verdicts_(verdicts) {}

    std::vector<Endpoint> endpoints();
    // Finds the stream with that API id; false: there is none.
    bool find_stream(std::string_view id, live::StreamKey& key) const;
    struct StreamCounts {
        size_t total = 0;  // in the list of streams
        size_t published = 0;
    };
    // Visits each stream, and does not yield.
    StreamCounts count_streams() const;

  private:
    base::Result<void> vhosts(Request& request, Response& response);
    base::Result<void> vhost(Request& request, Response& response);
    base::Result<void> streams(Request& request, Response& response);
    base::Result<void> stream(Request& request, Response& response);
    base::Result<void> clients(Request& request, Response& response);
    net::SessionView view_of_client(const net::Session& session) const;
    base::Result<void> client(Request& request, Response& response);
    size_t clients_of_vhost(std::string_view vhost) const;
    Json vhost_json(const config::Vhost& vhost, const std::vector<live::StreamKey>& keys) const;

    const Context& context_;
    Verdicts& verdicts_;
};

}  // namespace service::api
