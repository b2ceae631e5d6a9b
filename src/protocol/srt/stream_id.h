#pragma once
// Stream ids (SRTO_STREAMID), by which callers say what they want, in the forms in use:
//
//   #!::r=live/one,m=publish,key=value  the standard's (draft-sharabayko-srt-01, appendix B), as SRS reads it: h names
//                                       the vhost, "?" and "&" separate like ",", r may be missing where h is
//                                       app/stream or vhost/app/stream
//   publish:live/one:user:pass:query    MediaMTX's; read: for players; user and pass, or the query, may be left out
//   live/one?key=value, one             only a name: the mode is a default
//
// Nothing is percent-decoded. Whether a vhost exists is not checked here.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "protocol/srt/handshake.h"

namespace srt {

enum class StreamMode : uint8_t { kRequest, kPublish };

struct StreamId {
    StreamMode mode = StreamMode::kRequest;
    std::string vhost;   // empty: not named
    std::string app;     // may have several levels: "a/b"
    std::string stream;  // the last level
    // For hooks, as SRS has it: "vhost=V&k=v&...", all keys but h, r and m in their order. May be empty.
    std::string params;
    // The servers that the stream or the request has passed, "a,b", as servers of this kind write it (via=a:b); it is
    // in no params. Others do not have it.
    std::string path;
    std::string user, password;  // u and s of the standard (which are in params, too), or MediaMTX's
};

struct StreamIdDefaults {
    std::string_view app = "live";                                   // of a name without app
    StreamMode mode = StreamMode::kRequest;                          // of a name alone
    std::string_view stream_id = "#!::r=live/livestream,m=request";  // of callers that send none
};

struct StreamIdError {
    Refusal code = Refusal::kBadRequest;  // or kBadMode
    std::string text;
};

// Refused: more than kMaxStreamId bytes, other modes than publish and request, no stream, names that check_name() does
// not allow, parameters with control characters, and the standard's form with braces, which nobody sends.
std::expected<StreamId, StreamIdError> parse_stream_id(std::string_view text, const StreamIdDefaults& defaults);

}  // namespace srt
