#pragma once
// PeerSession: this server as the client of another RTSP server, which pulling (camera_source.cpp) and forwarding
// (record_link.cpp) share: the connection, its requests and answers, and the ports of the tracks by UDP. What is asked
// for, and what becomes of the media, is its user's.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "protocol/rtsp/client_session.h"
#include "protocol/rtsp/reader.h"
#include "protocol/rtsp/url.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"
#include "service/client_tls.h"
#include "service/rtsp/udp_ports.h"

namespace service::rtsp {

// Absolute URLs.
struct PeerTracks {
    std::vector<std::string> controls;
    std::string session;  // of PLAY or RECORD
};

// Calls of a PeerSession. They do not yield.
class PeerUser {
  public:
    // DESCRIBE or ANNOUNCE was accepted: the tracks to set up.
    virtual base::Result<PeerTracks> on_described(const ::rtsp::Message& answer) = 0;
    // The transport is chosen, perhaps another one than before.
    virtual void on_transport() {}
    // PLAY or RECORD was accepted.
    virtual void on_streaming() {}
    virtual void on_interleaved(size_t /*track*/, bool /*rtcp*/, std::span<const uint8_t> /*bytes*/) {}

  protected:
    ~PeerUser() = default;
};

class PeerSession {
  public:
    struct Transports {
        bool tcp_first = true;
        bool has_other = true;  // the other one is tried where the server does not take the first
    };

    // refused: counts datagrams of unknown senders. Both must outlive it.
    PeerSession(PeerUser& user, uint64_t& refused) : user_(user), refused_(refused) {}
    ~PeerSession();  // yields
    PeerSession(const PeerSession&) = delete;

    // Connects; what was before is forgotten. options: url and credentials are those of url. tls: null for none.
    // Yields.
    base::Result<void> connect(const ::rtsp::Url& url, ::rtsp::ClientOptions options, Transports transports,
                               ClientTls* tls, runtime::Deadline limit);
    // Requests that are due, and answers; whole messages.
    std::string take_output();
    void add_output(std::string_view bytes) { output_ += bytes; }
    // Bytes of the server, up to a redirect. While it streams, what is passed on lies in them. An error has the reason
    // that the server states.
    base::Result<void> take(std::span<const uint8_t> bytes);
    // To be called every second or so.
    base::Result<void> on_timer();

    ::rtsp::ClientSession& client() { return *client_; }
    bool is_streaming() const { return client_ && client_->state() == ::rtsp::ClientSession::State::kStreaming; }
    bool has_ended() const { return client_ && client_->state() == ::rtsp::ClientSession::State::kEnded; }
    const std::string& location() const { return location_; }  // not empty: it was redirected
    int refused_status() const { return refused_status_; }     // of the answer that was an error; 0: none was

    runtime::ByteStream* stream() const { return socket_.get(); }  // null: before connect(), and once it was taken
    std::unique_ptr<runtime::ByteStream> take_stream() { return std::move(socket_); }
    const std::optional<base::IpAddress>& address() const { return address_; }
    bool tcp() const { return tcp_; }
    // Of each track, by UDP.
    std::vector<std::unique_ptr<UdpPorts>>& ports() { return ports_; }

  private:
    base::Result<void> on_message(const ::rtsp::Message& message);
    base::Result<void> on_request(const ::rtsp::Message& message);
    base::Result<void> set_up(bool tcp);

    PeerUser& user_;
    uint64_t& refused_;
    Transports transports_;
    std::unique_ptr<runtime::ByteStream> socket_;
    std::optional<base::IpAddress> address_;  // of the server; nothing: it has a zone
    std::optional<::rtsp::ClientSession> client_;
    std::optional<::rtsp::Reader> reader_;
    PeerTracks tracks_;
    std::vector<std::unique_ptr<UdpPorts>> ports_;
    std::string output_, location_;
    size_t answered_bytes_ = 0;  // since the last on_timer(), to requests of the server
    int refused_status_ = 0;
    bool tcp_ = true;
    bool tried_other_ = false;
};

}  // namespace service::rtsp
