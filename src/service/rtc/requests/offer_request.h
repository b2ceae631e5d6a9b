#pragma once
// Parses an HTTP request with an offer: which stream, and which codecs are requested. WHIP and WHEP name the stream in
// the query (app, stream; vhost, eip, codec, vcodec, acodec, layer, maxheight); the older JSON API uses a webrtc:// URL
// with its own query. Pure.

#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/http_exchange.h"
#include "service/rtc/media.h"

namespace service::rtc {

struct OfferRequest {
    std::string vhost;  // as given by the client; not looked up yet
    std::string app;
    std::string stream;
    std::string param;   // "?k=v&..."; a bearer token is added as token= unless the URL has one; left unchanged if it
                         // is a signature
    std::string tc_url;  // "rtmp://HOST/APP"
    std::string eip;
    std::string vcodec;  // "h264", "hevc", "av1", "vp8", "vp9" or empty
    std::string acodec;  // "opus", "pcmu", "pcma" or empty
    LayerWish layer{};
    std::string sdp;
};

// kProtocol: the text says what is missing or invalid. takes_token: a bearer token is the stream's.
base::Result<OfferRequest> read_whip(const net::HttpRequest& request, bool takes_token);
// Body: {"api": ..., "streamurl": "webrtc://HOST[:PORT]/APP/STREAM?k=v", "clientip": ..., "sdp": "v=0..."}; clientip is
// ignored.
base::Result<OfferRequest> read_json(const net::HttpRequest& request, bool takes_token);

// Whether the media type is `type`: "application/sdp" matches "Application/SDP; charset=utf-8".
bool has_content_type(const http::Request& request, std::string_view type);
// The token of "Authorization: Bearer T"; empty: none.
std::string_view bearer_token(const http::Request& request);
// The session's URL for PATCH and DELETE: "/rtc/v1/whip/?action=delete&token=...".
std::string session_url(std::string_view path, const OfferRequest& offer, std::string_view session,
                        std::string_view token);
// The value of the Link header (RFC 9725, 4.6) for rtc_server's ice_server; empty: no ice_server.
std::string ice_server_links(const std::vector<std::string>& ice_server);

}  // namespace service::rtc
