#pragma once
// What an HTTP request with an offer asks for: which stream, with which wishes. Of WHIP and WHEP the stream stands in
// the query (app, stream; vhost, eip, codec, vcodec, acodec), of the older JSON API in a webrtc:// URL with its own.
// Pure.

#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/http_exchange.h"

namespace service::rtc {

struct OfferRequest {
    std::string vhost;  // as named; not looked up yet
    std::string app;
    std::string stream;
    std::string param;   // "?k=v&..."; a bearer token is in it as token=, unless the URL has one; as it is when it is a
                         // signature
    std::string tc_url;  // "rtmp://HOST/APP"
    std::string eip;
    std::string vcodec;  // "h264", "hevc", "av1", "vp8", "vp9" or empty
    std::string acodec;  // "opus", "pcmu", "pcma" or empty
    std::string sdp;
};

// kProtocol: the text says what is missing or wrong.
base::Result<OfferRequest> read_whip(const net::HttpRequest& request);
// {"api": ..., "streamurl": "webrtc://HOST[:PORT]/APP/STREAM?k=v", "clientip": ..., "sdp": "v=0..."}; clientip is not
// believed.
base::Result<OfferRequest> read_json(const net::HttpRequest& request);

// "application/sdp" of "Application/SDP; charset=utf-8".
bool has_content_type(const http::Request& request, std::string_view type);
// Of "Authorization: Bearer T"; empty: there is none.
std::string_view bearer_token(const http::Request& request);
// "/rtc/v1/whip/?action=delete&token=...": where the session is, for PATCH and DELETE.
std::string session_url(std::string_view path, const OfferRequest& offer, std::string_view session,
                        std::string_view token);
// The value of Link (RFC 9725, 4.6) for rtc_server's ice_server; empty: there is none.
std::string ice_server_links(const std::vector<std::string>& ice_server);

}  // namespace service::rtc
