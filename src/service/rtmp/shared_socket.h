#pragma once
// SharedSocket: one parked socket for all that a connection plays at once, and for the session's control messages. Each
// player has a share, which is a ByteStream to its live::Viewer. Messages are never mixed: a share whose write was
// partial keeps the socket until the rest is sent. After that the control messages go first, and then the waiting
// shares are served in rotation, a part each (at most a block of their log). It relies on a Viewer's guarantee that
// each part it writes ends with a message.
//
// A share may have its own message stream id: its player writes the live log's id, which is replaced here.
//
// Input is read from the socket, not from the shares. It never yields. A connection that plays one stream and publishes
// none does not need it.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "runtime/socket/byte_stream.h"

namespace service::rtmp {

class SharedSocketHandler {
  public:
    virtual void on_shared_input(std::span<const uint8_t> bytes) = 0;
    // Nothing can be read or written any more; every share's write fails. Called once.
    virtual void on_shared_end(std::string_view why) = 0;

  protected:
    ~SharedSocketHandler() = default;
};

class SharedSocket final : private runtime::ParkedHandler {
  public:
    // If more control messages than this wait for a peer that does not read, the socket is closed.
    static constexpr size_t kMaxControlMessages = 64;

    explicit SharedSocket(SharedSocketHandler& handler) : handler_(handler) {}
    ~SharedSocket();  // after its shares
    SharedSocket(const SharedSocket&) = delete;

    // messages: sent before everything else. The handler may be called with input soon, but not from within this call.
    void take(std::unique_ptr<runtime::ByteStream> socket, std::vector<base::Slice> messages);
    // For a player whose messages need no rewriting, at the beginning of a message.
    std::unique_ptr<runtime::ByteStream> make_share();
    // Messages of the share, in chunks of that size, get another message stream id. This costs a copy of them.
    std::unique_ptr<runtime::ByteStream> make_share(uint32_t stream_id, uint32_t chunk_size);
    // Sends whole control messages, before messages that the shares have not begun.
    void send(base::Slice messages);
    // Returns the socket and the data not sent yet. There must be no shares left, and none that ended with an error.
    std::unique_ptr<runtime::ByteStream> release(std::vector<base::Slice>& unsent);
    // Like an error of the socket, except that the handler is not called.
    void fail(std::string_view why, base::CloseReason reason);

    bool failed() const { return !why_.empty(); }
    const std::string& why() const { return why_; }
    base::CloseReason reason() const { return reason_; }
    bool peer_gone() const { return socket_->peer_gone(); }
    uint64_t received_bytes() const { return received_bytes_; }
    uint64_t sent_control_bytes() const { return sent_control_bytes_; }

  private:
    class Share;

    void on_readable() override;
    void on_writable() override;
    void on_hangup() override;

    base::Result<size_t> write(Share& share, std::span<const iovec> parts);
    base::Result<size_t> write_rewritten(Share& share, std::span<const iovec> parts);
    void leave(Share& share);
    void serve();
    bool send_control();
    Share* next_waiting();
    bool others_wait(const Share& share) const;
    void end(std::string_view why, base::CloseReason reason);

    SharedSocketHandler& handler_;
    std::unique_ptr<runtime::ByteStream> socket_;
    std::vector<base::Slice> control_queue_;
    std::vector<Share*> shares_;
    Share* inside_ = nullptr;   // in the middle of a message
    Share* serving_ = nullptr;  // is being served
    size_t next_ = 0;           // index in shares_ of the next one to serve
    bool blocked_ = false;      // the socket's buffer is full; the loop reports when it is writable
    std::string why_;
    base::CloseReason reason_ = base::CloseReason::kUnknown;
    uint64_t received_bytes_ = 0;
    uint64_t sent_control_bytes_ = 0;
};

}  // namespace service::rtmp
