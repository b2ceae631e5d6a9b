#pragma once
// Requests and responses of RTSP 1.0 (RFC 2326, sections 4 to 7), as the reader returns them and the writer takes them,
// and the limits of a reader. Headers are those of HTTP. A request of the HTTP tunnel (GET and POST) is a Message too.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/http/headers.h"

namespace rtsp {

// kGet and kPost: of the HTTP tunnel. kOther: no server here serves it.
enum class Method : uint8_t {
    kOptions,
    kDescribe,
    kAnnounce,
    kSetup,
    kPlay,
    kPause,
    kRecord,
    kTeardown,
    kGetParameter,
    kSetParameter,
    kGet,
    kPost,
    kOther,
};
std::string_view method_name(Method method);  // "SET_PARAMETER"; empty for kOther
Method method_of(std::string_view name);      // methods are case-sensitive (section 6.1)

// "Not Found"; "Error" for a status without a phrase here.
std::string_view reason_phrase(int status);

struct Limits {
    size_t header_bytes = 8 * 1024;  // first line and header fields together
    size_t header_count = 64;
    size_t body_bytes = 32 * 1024;
};

struct Message {
    bool is_request = true;
    bool is_http = false;  // of the HTTP tunnel: it has no body here, what follows is the tunnel's
    Method method = Method::kOther;
    std::string url{};  // of a request, as sent: "rtsp://host/app/stream/trackID=0", or "*"
    int status = 0;     // of a response
    http::Headers headers{};
    std::string body{};

    // Nothing: it is absent or no number.
    std::optional<uint32_t> cseq() const;
};

// The message as bytes. Content-Length is added where there is a body. Control bytes in values become '?', so that no
// text of a peer that is repeated in a header can end it.
std::string write(const Message& message);

}  // namespace rtsp
