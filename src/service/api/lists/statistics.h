#pragma once
// Vhosts, streams and clients, with their traffic. Shapes: INTERFACE.md, "HTTP API". A list of thousands is produced in
// pieces, and other coroutines may run in between.

#include <vector>

#include "service/api/earlier/earlier.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"
#include "service/stream_view.h"

namespace service::api {

// The fields of a client. hides_secrets: without the queries of its URLs.
Json session_json(const net::SessionView& session, bool hides_secrets);

class Verdicts;

// Of a request about a client, for the process that has it.
PassOn client_request(http::Method method, std::string_view id);

class Statistics {
  public:
    // They must outlive this.
    Statistics(const Context& context, Earlier& earlier, Verdicts& verdicts)
        : context_(context), earlier_(earlier), verdicts_(verdicts) {}
    // What the other process asks this one.
    void add_other_process_routes(net::HttpRouter& router);

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
    base::Result<void> brief_streams(Request& request, Response& response);
    base::Result<Json> stream_of_both(const StreamView& view, Json here, const Request& request);
    net::SessionView view_of_client(const net::Session& session) const;
    base::Result<void> client(Request& request, Response& response);
    const net::Session* find_client(std::string_view id) const;
    size_t clients_of_vhost(std::string_view vhost) const;
    Json vhost_json(const config::Vhost& vhost, const std::vector<live::StreamKey>& keys) const;
    base::Result<Json> vhost_of_both(const config::Vhost& vhost, const std::vector<live::StreamKey>& keys,
                                     const Request& request);
    base::Result<std::vector<live::StreamKey>> keys_of_both(const Request& request);

    const Context& context_;
    Earlier& earlier_;
    Verdicts& verdicts_;
};

}  // namespace service::api
