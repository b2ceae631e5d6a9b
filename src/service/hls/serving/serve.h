#pragma once
// Answers to requests for HLS: resources with their caching, ranges and conditions, and the text of playlists.

#include <string>
#include <string_view>

#include "net/http/http_exchange.h"
#include "service/hls/output.h"
#include "service/hls/playlists/master.h"
#include "service/hls/serving/index.h"

namespace service::hls {

// Serves a segment, initialisation segment or key. Sends nothing if its file does not exist.
base::Result<void> serve_resource(const ResourcePtr& resource, const std::string& path, const net::HttpRequest& request,
                                  net::HttpResponse& response);

// Serves a playlist: not cacheable, gzipped if the client accepts it. gzipped: cache of the gzipped text; may be null.
base::Result<void> serve_playlist(std::string_view text, std::string* gzipped, const net::HttpRequest& request,
                                  net::HttpResponse& response);

// The text of the multivariant playlist for a request of one of the stream's playlists. context: the viewer's id, which
// its URIs carry; empty: none. relative: the URIs have no directories.
std::string master_playlist(Master master, const net::HttpRequest& request, std::string_view context, bool relative);

}  // namespace service::hls
