#pragma once
// Addresses of SRT listeners to call: srt://HOST:PORT?streamid=...&passphrase=...&latency=..., as srt-live-transmit and
// FFmpeg have them, but times are milliseconds. What a '#' begins belongs to the parameters: stream ids have one.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/stream_key.h"
#include "protocol/srt/stream_id.h"

namespace srt {

inline constexpr int kMaxLatencyMs = 60'000;

struct Url {
    std::string host{};  // without brackets
    uint16_t port = 0;
    std::string shown{};       // "srt://HOST:PORT": without parameters, which have secrets
    std::string stream_id{};   // at most kMaxStreamId bytes; empty: none is given
    std::string passphrase{};  // 10 to 80 bytes; empty: no encryption
    uint8_t key_size = 16;     // bytes
    uint16_t receive_latency_ms = 120, peer_latency_ms = 120;
};

// Whether its scheme is srt, in any case.
bool is_srt_url(std::string_view text);
// Parameters: streamid, passphrase, pbkeylen, latency, rcvlatency, peerlatency, mode (caller alone), transtype (live
// alone); those of other programs that have no meaning here are ignored, unknown ones are errors. Values are
// percent-decoded. kConfig; the text has no value of a parameter but numbers.
base::Result<Url> parse_url(std::string_view text);

// The stream id in the standard's form that asks for a stream. vhost: empty: none is named. params: "?k=v&...", which
// follow as further keys, but for those that a stream id cannot have, or has no room for. path: the servers that the
// stream or the request has passed, "a,b" (StreamId::path); those at its end are left out where there is no room.
// kConfig: it is too long, or would be read as another stream.
base::Result<std::string> make_stream_id(StreamMode mode, const base::StreamKey& stream, std::string_view params,
                                         std::string_view path = {});

}  // namespace srt
