#pragma once
// PacketSender: what a link that publishes by datagrams (SRT, MPEG-TS over UDP) has instead of a byte stream: it sends
// the stream by itself, from what all of its kind share (live/messages), and without a coroutine. No function yields.

#include <optional>
#include <string>
#include <string_view>

#include "base/close_reason.h"
#include "net/sessions/session_view.h"

namespace service {

class PacketSenderUser {
  public:
    // It has ended: once, after start(). It may be called by any function of the sender.
    virtual void on_sender_end(std::string_view why, base::CloseReason reason) = 0;

  protected:
    ~PacketSenderUser() = default;
};

class PacketSender {
  public:
    virtual std::string peer_ip() const = 0;
    // The user must outlive it.
    virtual void start(PacketSenderUser& user) = 0;
    // The stream is over: what was published before is still sent, then it ends. The limit is the user's.
    virtual void finish() = 0;
    // Ends now.
    virtual void abort(std::string_view why, base::CloseReason reason) = 0;
    virtual net::Traffic traffic() const = 0;
    virtual std::optional<net::SrtQuality> srt_quality() const { return {}; }

  protected:
    ~PacketSender() = default;
};

}  // namespace service
