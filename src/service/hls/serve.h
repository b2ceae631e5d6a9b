#pragma once
// Answers to requests for HLS: resources with their caching, ranges and conditions, and the text of playlists.

#include <string>
#include <string_view>

#include "net/http/http_exchange.h"
#include "service/hls/index.h"
#include "service/hls/output.h"

namespace service::hls {

// Serves a segment, initialisation segment or key. Sends nothing if its file does not exist.
base::Result<void> serve_resource(const ResourcePtr& resource, const std::string& path, const net::HttpRequest& request,
                                  net::HttpResponse& response);

// Serves a playlist: not cacheable, gzipped if the client accepts it. gzipped: cache of the gzipped text; may be null.
base::Result<void> serve_playlist(std::string_view text, std::string* gzipped, const net::HttpRequest& request,
                                  net::HttpResponse& response);

// The first response to a viewer: the master playlist with the viewer's id.
std::string master_playlist(const View& view, const net::HttpRequest& request, std::string_view context, bool relative,
                            int width, int height);

}  // namespace service::hls
