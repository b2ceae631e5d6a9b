#pragma once
// LinkHttp: HTTP between the two processes of an upgrade, over socket pairs that one of them makes and whose other end
// it passes through the channel: requests that this one makes, and those that it serves from its routers. Nobody else
// can come by these connections, so the routers check no rights: the process that passes a request on has done that.
// Requests are limited in number, time and size of the answer.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/http/http_client.h"
#include "net/http/http_router.h"
#include "net/http/http_server.h"
#include "service/other_process.h"

namespace server {

class LinkHttp {
  public:
    static constexpr size_t kMaxRequests = 32;  // at one time
    static constexpr size_t kMaxSlow = 16;      // of these; what is quick has the others
    static constexpr size_t kMaxServed = 64;    // connections of the other process, those that it keeps included
    // Who did not answer in time is not asked for so long, ms, so that nobody waits for a process that stands still.
    static constexpr int64_t kPauseMs = 5'000;

    // They must outlive it.
    struct Routers {
        const net::HttpRouter &api, &http, &own;
    };
    // A new connection to the router of that name. Does not yield.
    using Connect = std::function<base::Result<std::unique_ptr<runtime::ByteStream>>(std::string_view router)>;

    LinkHttp(net::SessionTable& sessions, const Routers& routers, Connect connect);

    // There is another process now.
    void open();
    // A connection of the other process. Unknown routers, or too many: it is closed. Does not yield.
    void serve(std::unique_ptr<runtime::ByteStream> stream, std::string_view router);
    // See OtherProcess::ask(). Yields.
    base::Result<net::HttpAnswer> ask(service::OtherRequest request);
    // Ends what it serves; what it asks ends by itself. Yields.
    void close();

  private:
    net::SessionTable& sessions_;
    const Routers routers_;
    const Connect connect_;
    std::unique_ptr<net::HttpServer> server_;  // null: there is no other process
    uint64_t process_ = 0;                     // a number for each, so that no kept connection is one to another
    net::HttpClient client_;
    size_t asking_ = 0, slow_ = 0;
    int64_t not_before_ms_ = 0;  // by the loop's clock
};

}  // namespace server
