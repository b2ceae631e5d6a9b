#pragma once
// Dialog: the client's side of one connection as a state machine over bytes: from opening to the point where the server
// plays (or takes a publisher's messages), and then following what it sends. Pure: it is handed bytes and hands out
// what to send and what media came.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "load/media_sink.h"
#include "load/target.h"
#include "protocol/rtsp/transport.h"

namespace load {

enum class Role : uint8_t { kPlay, kPublish };

class Dialog {
  public:
    virtual ~Dialog() = default;

    // Appends the first bytes to send.
    virtual void start(std::vector<uint8_t>& out) = 0;
    // Appends answers to out. An error is final: the server refused, or broke the protocol.
    virtual base::Result<void> feed(std::span<const uint8_t> bytes, MediaSink& sink, std::vector<uint8_t>& out) = 0;
    // An RTP packet of a player by UDP. An error is final.
    virtual base::Result<void> on_datagram(size_t, std::span<const uint8_t>, MediaSink&) { return {}; }
    // The server has accepted: media comes, or may be sent.
    bool ready() const { return ready_; }
    // RTMP's message stream, once ready.
    uint32_t stream_id() const { return stream_id_; }

  protected:
    bool ready_ = false;
    uint32_t stream_id_ = 1;
};

// Fills the bytes at random.
using RandomFill = void (*)(std::span<uint8_t>);

struct DialogOptions {
    RandomFill random = nullptr;
    std::string description{};                // rtsp: SDP of what is published
    std::vector<rtsp::Ports> client_ports{};  // of a player by UDP, for each track; rtsp: none: interleaved
};

// http:// and udp:// have no publishing; that of tcp:// sends without asking.
base::Result<std::unique_ptr<Dialog>> make_dialog(const Target& target, Role role, DialogOptions options);

}  // namespace load
