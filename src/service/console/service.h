#pragma once
// The server's web pages, which `make console` puts into a directory of their own: the console, the players, and the
// start page at /. They are served on http_server's port, and but for the start page on the API's. On both an
// operator's file of the same path in http_server.dir takes precedence, and is served as it is: SRS's console and
// players have inline scripts. Ours have a Content-Security-Policy, by which only pages of this origin may show them in
// a frame, but for the player to be embedded (embed_sites). Only the types of files that a page consists of are
// served, in the compressed form that lies beside them (NAME.br, NAME.gz) to a browser that takes it.

#include <memory>
#include <string>
#include <string_view>

#include "config/snapshot.h"
#include "net/access/file_access.h"
#include "net/http/http_router.h"
#include "net/http/static_files.h"
#include "service/module.h"

namespace service::console {

class Service : public WithoutClients {
  public:
    // Adds the routes. The references must outlive it.
    Service(config::SnapshotPtr snapshot, const net::FileAccess& access, net::HttpRouter& router, net::HttpRouter& api);

    // Logs a line if there are no pages. Yields.
    base::Result<void> start();
    void reload(const config::SnapshotPtr& next);

  private:
    // The fields of a page, and the policy that one of them refers to.
    struct PageHeaders {
        std::string policy;
        net::ResponseHeaders fields;
        net::ResponseHeaders of_brotli, of_gzip;  // of the compressed forms
    };
    static std::shared_ptr<const PageHeaders> headers_for(std::string_view ancestors);

    using Handler = base::Result<void> (Service::*)(net::HttpRequest&, net::HttpResponse&);
    void add_route(net::HttpRouter& router, std::string pattern, Handler handler);

    base::Result<void> serve_from_api(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> serve_page(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> serve_start(net::HttpRequest& request, net::HttpResponse& response);
    // Sends nothing when there is no such file, or none that a page consists of. path: below the directory.
    base::Result<void> send_file(const std::string& path, const net::HttpRequest& request,
                                 net::HttpResponse& response) const;

    config::SnapshotPtr snapshot_;
    const std::shared_ptr<const PageHeaders> headers_;
    std::shared_ptr<const PageHeaders> embed_headers_;  // of snapshot_; an answer keeps those that it began with
    const net::FileAccess& access_;
};

}  // namespace service::console
