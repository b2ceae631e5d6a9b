#pragma once
// Locator: an offer of a service that knows which server of a cluster has a stream. Streams that this server lacks are
// pulled from there (by the service edge), or their players are sent there.

#include <string>
#include <vector>

#include "base/stream_key.h"
#include "config/snapshot.h"
#include "protocol/http/message.h"

namespace service {

class Locator {
  public:
    // Whether streams of the vhost are looked up. Does not yield.
    virtual bool locates(const config::Vhost& vhost) const = 0;
    // The servers that publish the stream now, as an edge's origins are written ("rtmp://192.0.2.1:1935"), the best
    // first; empty: none is known. by_http: by HTTP where that is possible. Yields, for a limited time.
    virtual std::vector<std::string> locate(const base::StreamKey& stream, bool by_http) = 0;

    // Whether players of the vhost by RTMP, or by HTTP, are sent to the server that has the stream. Does not yield.
    virtual bool redirects(const config::Vhost& vhost, bool by_http) const = 0;
    // Where: "rtmp://192.0.2.1:1935", "http://192.0.2.1:8080". Empty: the stream is here, or nowhere. Yields, for a
    // limited time.
    virtual std::string redirect(const base::StreamKey& stream, bool by_http) = 0;

  protected:
    ~Locator() = default;
};

// The URL of the stream, or of what a request asks for, at another server. params: "?k=v", or empty; the vhost is added
// where it does not follow from the address.
std::string rtmp_redirect(const std::string& server, const base::StreamKey& stream, std::string_view params);
std::string http_redirect(const std::string& server, const http::Request& request, const std::string& vhost);

}  // namespace service
