#pragma once
// Upstream: one connection to an origin that plays a stream: by RTMP or by HTTP-FLV. It connects, asks, and turns what
// it is fed into bodies of audio, video and data. It does not read its socket: that is the owner's loop.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "protocol/amf/value.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"
#include "service/edge/origin.h"
#include "service/rtmp_dial.h"

namespace service::edge {

class UpstreamSink {
  public:
    // The body of an FLV tag or RTMP message. An error ends the connection. Must not yield.
    virtual base::Result<void> on_body(uint8_t type, const base::Slice& body, uint32_t timestamp) = 0;
    // A message that is no body could not be used.
    virtual void on_dropped(const base::Error& error) = 0;

  protected:
    ~UpstreamSink() = default;
};

struct UpstreamOptions {
    std::string path{};        // the servers that the request has passed, with this one: "a,b"
    amf::Value arguments{};    // for connect of RTMP (debug_srs_upnode); null: none
    std::string user_agent{};  // for HTTP
};

class Upstream {
  public:
    virtual ~Upstream() = default;

    // Connects and asks for the stream; media that come at once go to the sink. kRefused: the origin does not give it.
    // Yields.
    virtual base::Result<void> open(runtime::Deadline limit) = 0;
    // Bytes from the socket. kClosed: the origin says that the stream is over.
    virtual base::Result<void> take(std::span<const uint8_t> bytes) = 0;
    // Bytes to be sent to the origin.
    virtual std::vector<uint8_t> take_output() { return {}; }
    // After an error: where the origin sends us; empty: nowhere.
    virtual const std::string& location() const = 0;
    // The servers that the stream has passed on its way to the origin, with it, as far as it says so: "a,b".
    virtual const std::string& path() const = 0;

    // Null before it is connected.
    runtime::ByteStream* socket() const { return socket_.get(); }

  protected:
    std::unique_ptr<runtime::ByteStream> socket_;
};

// The sink and tls must outlive it.
std::unique_ptr<Upstream> make_upstream(const Source& source, UpstreamOptions options, ClientTls& tls,
                                        UpstreamSink& sink);
std::unique_ptr<Upstream> make_rtmp_upstream(const Source& source, UpstreamOptions options, ClientTls& tls,
                                             UpstreamSink& sink);
std::unique_ptr<Upstream> make_flv_upstream(const Source& source, UpstreamOptions options, ClientTls& tls,
                                            UpstreamSink& sink);

}  // namespace service::edge
