#pragma once
// The server's side of a connection after the handshake (Adobe RTMP 1.0, 7.2, and the extensions of FMLE, Flash,
// librtmp, ffmpeg and OBS). It consumes bytes, answers control messages and commands, and calls a handler for each
// request. A connection publishes or plays one stream at a time; what it has created is message stream 1, as in SRS.
// Bytes to send are collected in output(). The handler decides on connect, publish and play, during its call or later:
// until then no more input is consumed. No sockets, no streams, no clock.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "media/codec.h"
#include "protocol/rtmp/chunk_reader.h"
#include "protocol/rtmp/messages.h"

namespace rtmp {

// The status code with which this server refuses a stream that has already passed through it.
inline constexpr std::string_view kForwardLoop = "NetStream.Publish.ForwardLoop";

struct ConnectRequest {
    std::string app;
    std::string tc_url;
    std::string page_url;
    std::string swf_url;
    std::string flash_version;   // "FMLE/3.0 (compatible; Lavf59...)"
    double object_encoding = 0;  // 0 or 3
    bool enhanced = false;       // supports Enhanced RTMP
    bool multitrack = false;     // and says that it takes streams with several tracks of a kind
    // From another server of this kind: it asks about a client, and will neither publish nor play.
    bool connect_only = false;
    // From another server of this kind: the servers that the stream, or the request for it, came through, "a,b".
    std::string forward_path;
};

// How the client publishes, which the API reports.
enum class PublishStyle : uint8_t { kFmle, kHaivision, kFlash };

struct PublishRequest {
    std::string name;  // with its parameters
    std::string type;  // "live", "record", "append"
    PublishStyle style = PublishStyle::kFlash;
};

struct PlayRequest {
    std::string name;         // with its parameters
    double start_ms = -2000;  // below 0: live
    double duration_ms = -1;  // below 0: to the end
    bool reset = true;
};

class ServerHandler {
  public:
    // Each requests a decision: accept_...() or refuse_...() of the session, now or later.
    virtual void on_connect(ConnectRequest request) = 0;
    virtual void on_publish(PublishRequest request) = 0;
    virtual void on_play(PlayRequest request) = 0;
    // Audio, video or data of the stream whose publishing was accepted. The message may be moved from.
    virtual base::Result<void> on_media(Message& message) = 0;
    // A message that is not valid by itself was dropped, or a request that is not possible now; the chunk stream is in
    // order, and what follows is read.
    virtual void on_dropped(const base::Error&) {}
    // The client has ended publishing or playing; the connection stays open.
    virtual void on_close_stream() = 0;
    // While it plays. The session has answered the client already.
    virtual void on_pause(bool paused) = 0;
    virtual void on_receive(media::Kind kind, bool wanted) = 0;

  protected:
    ~ServerHandler() = default;
};

struct ConnectOptions {
    uint32_t chunk_size = 60000;      // of sent chunks; kMinChunkSize to kMaxMessage
    uint32_t out_ack_size = 2500000;  // acknowledgement interval requested of the peer, bytes; 0: not requested
    uint32_t in_ack_size = 0;         // our acknowledgement interval if the peer sets none, bytes; 0: never
    std::string_view server = "SRS";
    std::string id{};  // the connection's id, for the client's log
};

class ServerSession final : private MessageSink {
  public:
    static constexpr size_t kMaxOutput = 256 * 1024;  // bytes; above it no input is consumed until they are sent

    // already_received: bytes of the handshake, which acknowledgements count too.
    explicit ServerSession(ServerHandler& handler, uint32_t already_received = 0)
        : handler_(&handler), received_(already_received) {
        reader_.set_takes_media(false);
    }
    ServerSession(const ServerSession&) = delete;
    ServerSession& operator=(const ServerSession&) = delete;

    // The number of messages that one feed() handles: many small ones take time, and the caller may have to yield.
    static constexpr uint8_t kMessagesAtOnce = 16;

    // Returns how many bytes were consumed. Fewer than all while a decision is pending, when output() is full, or when
    // kMessagesAtOnce were handled: call it again with the rest. An error is final: the chunk stream is broken, or the
    // handler does not go on.
    base::Result<size_t> feed(std::span<const uint8_t> bytes);
    // Whether feed() would consume input now.
    bool takes_input() const { return !deciding() && output_size() <= kMaxOutput; }
    // Whether an aggregate has messages that were not delivered yet: feed() delivers them, also with an empty span.
    bool has_backlog() const { return aggregate_ != nullptr; }
    bool deciding() const { return pending_ != Pending::kNone; }

    void accept_connect(const ConnectOptions& options);
    void refuse_connect(std::string_view code, std::string_view description);
    void accept_publish();
    void refuse_publish(std::string_view code, std::string_view description);
    // path: the servers that the stream has passed, for a client that is a server; empty: not sent.
    void accept_play(bool reset, std::string_view path = {});
    void refuse_play(std::string_view code, std::string_view description);
    // Refuses it with the URL of the stream at another server, as SRS does: code 302 in "ex", "redirect2" is the URL
    // and "redirect" the tcUrl for it.
    void redirect_play(std::string_view url);
    // The server ends an accepted request: another publisher took over, or the played stream has ended.
    void end_publish(std::string_view code, std::string_view description);
    void end_play();

    // The bytes to send, in order.
    bool has_output() const { return output_ && !output_->empty(); }
    std::vector<uint8_t> take_output() {
        const auto taken = std::move(output_);
        return taken ? std::move(*taken) : std::vector<uint8_t>();
    }
    uint32_t out_chunk_size() const { return out_chunk_size_; }
    bool connected() const { return connected_; }
    bool publishing() const { return use_ == Use::kPublish; }
    const ChunkReader& reader() const { return reader_; }
    void shrink() { reader_.shrink(); }

  private:
    enum class Pending : uint8_t { kNone, kConnect, kPublish, kPlay };
    enum class Use : uint8_t { kIdle, kPublish, kPlay };
    using Action = base::Result<void> (ServerSession::*)(const Message&, Command&);
    struct Row;

    base::Result<bool> on_message(Message& message) override;
    base::Result<void> media(Message& message);
    base::Result<void> hand_out_aggregate();
    void control(const Message& message);
    void user_control(const Message& message);
    base::Result<void> command(const Message& message);

    base::Result<void> connect(const Message& message, Command& c);
    base::Result<void> release_stream(const Message& message, Command& c);
    base::Result<void> fc_publish(const Message& message, Command& c);
    base::Result<void> fc_unpublish(const Message& message, Command& c);
    base::Result<void> fc_subscribe(const Message& message, Command& c);
    base::Result<void> create_stream(const Message& message, Command& c);
    base::Result<void> publish(const Message& message, Command& c);
    base::Result<void> play(const Message& message, Command& c);
    base::Result<void> pause(const Message& message, Command& c);
    base::Result<void> seek(const Message& message, Command& c);
    base::Result<void> receive(const Message& message, Command& c);
    base::Result<void> stream_length(const Message& message, Command& c);
    base::Result<void> close_stream(const Message& message, Command& c);
    base::Result<void> answer_nothing(const Message& message, Command& c);
    base::Result<void> ignore(const Message& message, Command& c);

    size_t output_size() const { return output_ ? output_->size() : 0; }
    std::vector<uint8_t>& output() {
        if (!output_) output_ = std::make_unique<std::vector<uint8_t>>();
        return *output_;
    }
    void close();
    // Whether a request to publish or play is possible now; otherwise it is refused with that code.
    bool may_begin(const Message& message, std::string_view code);
    void decided(Pending what, Use use);
    void result(const Command& asked, amf::Value value);
    void status(uint32_t stream_id, std::string_view level, std::string_view code, std::string_view description,
                std::string_view path = {});
    void acknowledge();

    ServerHandler* handler_;
    ChunkReader reader_;
    std::unique_ptr<AggregateReader> aggregate_;    // in progress
    std::unique_ptr<std::vector<uint8_t>> output_;  // on demand: there may be 10,000 sessions without output
    uint32_t out_chunk_size_ = kDefaultChunkSize;
    uint32_t received_;          // bytes, modulo 2^32 as acknowledgements count
    uint32_t acknowledged_ = 0;  // the last acknowledged value sent
    uint32_t window_ = 0;        // bytes; 0: no acknowledgements are sent
    uint32_t out_ack_size_ = 0;
    uint32_t stream_id_ = 0;  // the message stream of the last request, on which it is answered
    uint32_t name_hash_ = 0;  // of the published stream, without parameters
    double connect_transaction_ = 1;
    uint8_t messages_left_ = 0;  // of kMessagesAtOnce, during this feed()
    Pending pending_ = Pending::kNone;
    Use use_ = Use::kIdle;
    PublishStyle style_ = PublishStyle::kFlash;
    bool connected_ : 1 = false;
    bool created_stream_ : 1 = false;
    bool fc_published_ : 1 = false;
    bool object_encoding_3_ : 1 = false;
    bool enhanced_ : 1 = false;
};

}  // namespace rtmp
