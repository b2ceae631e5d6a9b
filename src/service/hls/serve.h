#pragma once
// Answers to requests for HLS: resources with their caching, ranges and conditions, and the text of playlists.

#include <string>
#include <string_view>

#include "net/http/http_exchange.h"
#include "service/hls/index.h"
#include "service/hls/output.h"

namespace service::hls {

// A segment, initialisation segment or key. Sends nothing when its file is not there.
base::Result<void> serve_resource(const ResourcePtr& resource, const std::string& path, const net::HttpRequest& request,
                                  net::HttpResponse& response);

// A playlist: never from a cache, gzipped where that is wanted. zipped: kept for others, where there are; may be null.
base::Result<void> serve_playlist(std::string_view text, std::string* zipped, const net::HttpRequest& request,
                                  net::HttpResponse& response);

// The first answer to a viewer: the playlist with its id.
std::string master_playlist(const View& view, const net::HttpRequest& request, std::string_view context, bool relative,
                            int width, int height);

}  // namespace service::hls
