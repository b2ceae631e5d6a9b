#pragma once
// The client's side of a connection after the handshake: connects, then publishes (as FMLE does) or plays one stream.
// A server may refuse with the address of another one (redirect of FMS and SRS: code 302 in the member "ex").
// Input: received bytes. Output: media to the handler, bytes to send in output(). No sockets, no clock.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/rtmp/chunk_reader.h"
#include "protocol/rtmp/messages.h"
#include "protocol/rtmp/url.h"

namespace rtmp {

struct ClientOptions {
    bool publish = false;
    uint32_t chunk_size = 60000;      // of sent chunks; kMinChunkSize to kMaxMessage
    uint32_t out_ack_size = 2500000;  // window acknowledgement size requested of the server, bytes; 0: none
    uint32_t buffer_ms = 3000;        // a player's buffer length as announced to the server
    std::string forward_path{};       // ConnectRequest::forward_path; empty: not sent
    bool connect_only = false;        // ready when connect is accepted: neither publishes nor plays
    // In connect; an empty tc_url is that of the URL, the others are then not sent.
    std::string tc_url{}, page_url{}, swf_url{};
    amf::Value arguments{};  // the object behind the command object of connect; null: there is none
};

class ClientHandler {
  public:
    // The server has accepted the publish or play request, or connect alone.
    virtual void on_ready() = 0;
    // Audio, video or data of the played stream; aggregates are split. May be moved from.
    virtual base::Result<void> on_media(Message& message) = 0;
    // A message that is not valid by itself was dropped; the chunk stream is in order, and what follows is read.
    virtual void on_dropped(const base::Error&) {}
    // The server reports that the stream has ended or does not exist yet: NetStream.Play.UnpublishNotify ...
    virtual void on_status(std::string_view code, std::string_view description) = 0;

  protected:
    ~ClientHandler() = default;
};

class ClientSession final : private MessageSink {
  public:
    // already_received: bytes of the handshake.
    ClientSession(ClientHandler& handler, Url url, const ClientOptions& options, uint32_t already_received = 0);
    ClientSession(const ClientSession&) = delete;

    // Writes connect to output(); call it once, after the handshake.
    void start();
    // Consumes all of the bytes. An error is final: the chunk stream is broken, the handler does not go on, or the
    // server refused the request (kRefused, with the server's description).
    base::Result<void> feed(std::span<const uint8_t> bytes);
    bool ready() const { return state_ == State::kReady; }
    // After an error of feed(): the whole URL of the stream at the server that is to be asked instead; empty: none. Not
    // checked.
    const std::string& location() const { return location_; }

    // Audio, video or data to publish; requires ready(). The payload is header followed by body.
    void send_media(uint8_t type, uint32_t timestamp, std::span<const uint8_t> header, std::span<const uint8_t> body);
    // Announces the end of publishing or playing; close the connection when the output is sent.
    void close();

    std::vector<uint8_t>& output() { return output_; }
    uint32_t stream_id() const { return stream_id_; }
    // The server said in its answer to connect that it takes streams with several tracks of a kind.
    bool peer_multitrack() const { return peer_multitrack_; }
    // Of a played stream, at a server of our kind: the servers that it has passed with that one, "a,b"; at most
    // kMaxForwardPath bytes.
    const std::string& peer_path() const { return peer_path_; }

  private:
    enum class State : uint8_t { kIdle, kConnecting, kCreating, kStarting, kReady, kClosed };

    base::Result<bool> on_message(Message& message) override;
    base::Result<void> command(const Message& message);
    base::Result<void> answer(const Command& c);
    base::Result<void> status(const Command& c);
    base::Result<void> aggregate(Message&& message);
    void control(const Message& message);
    void read_location(const amf::Value& information);
    void send(uint32_t csid, uint32_t stream_id, std::string name, std::vector<amf::Value> arguments);

    ClientHandler* handler_;
    Url url_;
    ClientOptions options_;
    ChunkReader reader_;
    std::vector<uint8_t> output_;
    uint32_t received_;
    uint32_t acknowledged_ = 0;
    uint32_t window_ = 0;
    uint32_t stream_id_ = 0;
    uint32_t transaction_ = 0;
    uint32_t awaited_ = 0;  // the transaction whose answer leads to the next state
    State state_ = State::kIdle;
    bool peer_multitrack_ = false;
    std::string location_, peer_path_;
};

}  // namespace rtmp
