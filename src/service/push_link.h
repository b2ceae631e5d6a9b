#pragma once
// PushLink: one connection on which a stream is published to another server, by one protocol. service/forward decides
// what goes where and when it is tried again; the link connects, asks to publish, and reads what the other server says.
// Media comes from the stream's log, whose key it names; or the link sends by itself, by datagrams. A service offers
// links of its protocol (service/shared_parts.h).

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "base/result.h"
#include "base/slice.h"
#include "live/fanout/wire_encoder.h"
#include "live/hub/stream.h"
#include "net/sessions/session.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"
#include "service/client_tls.h"
#include "service/packet_sender.h"

namespace service {

class PushLink {
  public:
    enum class Refusal : uint8_t {
        kNone,         // or it may be another time
        kLoop,         // the stream comes from the other server
        kCredentials,  // asking often may lock the account
    };
    // The other server accepted the stream.
    struct Ready {
        live::LogKey key{};  // of what is sent
        std::unique_ptr<runtime::ByteStream> socket{};
        base::Slice first_bytes{};  // before the log's
        std::string detail{};       // for the log: "UDP"; empty: nothing to say
        // Released when the stream has a viewer of the log.
        std::shared_ptr<const void> held{};
        // Of a link that sends by itself, whose it is; of the others only detail counts then. Null: the socket is used.
        PacketSender* sender = nullptr;
    };

    virtual ~PushLink() = default;

    virtual net::SessionType session_type() const = 0;
    // The URL at the other server, without what may be a secret.
    virtual const std::string& shown_url() const = 0;
    // Connects and asks to publish. Yields. Once; what follows is called after it succeeded, and does not yield.
    virtual base::Result<Ready> begin(runtime::Deadline limit) = 0;
    // After an error of begin().
    virtual Refusal refusal() const = 0;

    // What follows is not called where the link sends by itself, but for on_tick().
    // Bytes of the other server. An error ends the connection.
    virtual base::Result<void> on_input(std::span<const uint8_t>) { return {}; }
    // How often on_tick() is to be called, ms; 0: never.
    virtual int64_t tick_ms() const { return 0; }
    virtual base::Result<void> on_tick() { return {}; }
    // All of the stream was sent: the output gets the last message.
    virtual void on_stream_end() {}
    // The other server has answered that, or ended the session itself.
    virtual bool ended() const { return false; }
    // What has to be sent since the last call: whole messages.
    virtual base::Slice take_output() { return {}; }
};

struct PushRequest {
    base::Ref<live::Stream> stream{};
    std::string url{};    // with user and password
    std::string shown{};  // without what may be a secret
    std::string path{};   // the servers that the stream passed, this one included (live::PublisherFacts::forward_path)
    ClientTls* tls = nullptr;  // of the service that forwards; outlives the link
};

// A service can publish to other servers. A link does not use the service itself, which may be destroyed first.
struct PushOffer {
    std::vector<std::string_view> schemes;  // of URLs: "rtsp"
    std::function<base::Result<std::unique_ptr<PushLink>>(PushRequest)> make;
};

}  // namespace service
