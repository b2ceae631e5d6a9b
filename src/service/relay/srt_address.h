#pragma once
// The address of a stream at a server of SRT that this server calls. Pure text.

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/stream_key.h"
#include "protocol/srt/stream_id.h"

namespace service::relay {

struct SrtAddress {
    std::string_view authority{};   // "192.0.2.1:10080"
    std::string_view parameters{};  // of the URL, as configured: "latency=200&streamid=..."; [vhost] etc. are replaced
    ::srt::StreamMode mode = ::srt::StreamMode::kRequest;
    base::StreamKey stream{};   // here
    std::string_view vhost{};   // there; the default one is not named
    std::string_view params{};  // "?k=v" of the client, or empty
    std::string_view path{};    // the servers that the stream or the request has passed, with this one: "a,b"
};

// The complete URL. A stream id that is configured is kept, otherwise one is made. kConfig: there is none.
base::Result<std::string> srt_url(const SrtAddress& address);

}  // namespace service::relay
