#pragma once
// BodySource: a source whose server sends bodies of FLV tags: by RTMP (rtmp_source.cpp) or by HTTP-FLV
// (flv_source.cpp). It reads the connection as a publisher's is read: paced, and in step with the passes over the
// viewers. The stream's name is acquired when media come, so that a server without the stream does not publish. A
// publisher of this server takes the name over at any time.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/slice.h"
#include "convert/flv/body_publisher.h"
#include "live/hub/publisher_limits.h"
#include "live/hub/read_interval.h"
#include "protocol/amf/value.h"
#include "runtime/socket/byte_stream.h"
#include "service/client_tls.h"
#include "service/relay/source.h"
#include "service/relay/target.h"

namespace service::relay {

struct BodySourceOptions {
    Target target{};
    std::string path{};        // the servers that the request has passed, with this one: "a,b"
    amf::Value arguments{};    // for connect of RTMP (debug_srs_upnode); null: none
    std::string user_agent{};  // for HTTP
    ClientTls* tls = nullptr;  // outlives it
    // Instead of a connection to the target's host, by RTMP. What comes is a copy (live::PublicationOwner::is_copy()).
    std::function<base::Result<std::unique_ptr<runtime::ByteStream>>()> connect{};
};

// A source by RTMP or HTTP-FLV, as the target's scheme says.
std::unique_ptr<Source> make_body_source(BodySourceOptions options);
std::unique_ptr<Source> make_flv_source(BodySourceOptions options);

class BodySource : public Source, private live::PublicationOwner {
  public:
    base::Result<void> run(Fetch& fetch, runtime::Deadline limit) final;
    base::Result<std::unique_ptr<Source>> redirected() final;
    const std::string& shown() const final { return options_.target.shown; }

  protected:
    explicit BodySource(BodySourceOptions options) : options_(std::move(options)) {}

    // Connects (socket_) and asks for the stream; media that come at once go to on_body(). kRefused: the server does
    // not give it. Yields.
    virtual base::Result<void> open(runtime::Deadline limit) = 0;
    // Bytes from the socket. kClosed: the server says that the stream is over.
    virtual base::Result<void> take(std::span<const uint8_t> bytes) = 0;
    // Bytes to be sent to the server.
    virtual std::vector<uint8_t> take_output() { return {}; }
    // The servers that the stream has passed on its way to the server, with it, as far as it says so: "a,b".
    virtual std::string path() const = 0;

    // The body of an FLV tag or RTMP message. An error ends the connection.
    base::Result<void> on_body(uint8_t type, const base::Slice& body, uint32_t timestamp);

    const BodySourceOptions options_;
    Fetch* fetch_ = nullptr;
    std::unique_ptr<runtime::ByteStream> socket_;
    std::string location_;  // where the server sends us; empty: nowhere
    convert::BodyPublisher bodies_{"edge pull"};

  private:
    base::Result<void> serve(runtime::Deadline limit);
    base::Result<void> read_once(int64_t& ticked_ms);
    base::Result<void> acquire();
    int64_t read_interval_ms() const;

    // PublicationOwner
    live::PublisherFacts facts() const override;
    // A publisher of this server is served before it.
    bool publisher_alive() const override { return false; }
    bool is_relay() const override { return true; }
    bool is_copy() const override { return static_cast<bool>(options_.connect); }
    size_t dropped_tracks() const override { return bodies_.dropped_tracks(); }
    const live::InputFaults* input_faults() const override { return &bodies_.faults(); }
    bool read_now() override { return socket_ && socket_->poll_now(); }
    void publication_revoked(std::string_view why, base::CloseReason reason) override;

    live::ReadInterval read_interval_;
    live::Publication publication_;
    std::optional<live::PublisherLimits> limits_;  // from the first media on
};

}  // namespace service::relay
