#pragma once
// SharedSocket: one parked socket for all that a connection plays at once, and for the session's own words. Each player
// has a lane, which is a ByteStream to its live::Viewer. Messages are never mixed: a lane whose write was cut keeps the
// socket until that is out; then the session's words go first, and those who wait have their turns, a part each (at
// most a block of their log). It builds on what a Viewer promises: each part that it writes ends with a message.
//
// A lane may have a message stream id of its own: what its player writes has the live log's id, and gets the lane's
// here.
//
// Reading is the socket's, not the lanes'. It never yields. A connection that plays one stream and publishes none has
// no need of it.

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
    // Nothing goes in or out any more; every lane's write fails. Once.
    virtual void on_shared_end(std::string_view why) = 0;

  protected:
    ~SharedSocketHandler() = default;
};

class SharedSocket final : private runtime::ParkedHandler {
  public:
    // More of the session's words than this wait for a peer that does not read: the end.
    static constexpr size_t kMaxControlMessages = 64;

    explicit SharedSocket(SharedSocketHandler& handler) : handler_(handler) {}
    ~SharedSocket();  // after its lanes
    SharedSocket(const SharedSocket&) = delete;

    // words: what is to go out before all else. The handler may be told of input soon, but not from here.
    void take(std::unique_ptr<runtime::ByteStream> socket, std::vector<base::Slice> words);
    // For one that begins with a message.
    std::unique_ptr<runtime::ByteStream> make_lane();
    // Its messages, which are chunks of that size, get another message stream id. This costs a copy of them.
    std::unique_ptr<runtime::ByteStream> make_lane(uint32_t stream_id, uint32_t chunk_size);
    // Whole messages. They go out before what lanes have not begun.
    void send(base::Slice words);
    // Gives the socket back, and what it still owes. There are no lanes any more, and none ended badly.
    std::unique_ptr<runtime::ByteStream> release(std::vector<base::Slice>& unsent);
    // As after an error of the socket, but that the handler is not told.
    void fail(std::string_view why, base::CloseReason reason);

    bool failed() const { return !why_.empty(); }
    const std::string& why() const { return why_; }
    base::CloseReason reason() const { return reason_; }
    bool peer_gone() const { return socket_->peer_gone(); }
    uint64_t received_bytes() const { return received_bytes_; }
    uint64_t sent_words_bytes() const { return sent_words_bytes_; }

  private:
    class Lane;

    void on_readable() override;
    void on_writable() override;
    void on_hangup() override;

    base::Result<size_t> write(Lane& lane, std::span<const iovec> parts);
    base::Result<size_t> write_rewritten(Lane& lane, std::span<const iovec> parts);
    void leave(Lane& lane);
    void serve();
    bool send_words();
    Lane* next_waiting();
    bool others_wait(const Lane& lane) const;
    void end(std::string_view why, base::CloseReason reason);

    SharedSocketHandler& handler_;
    std::unique_ptr<runtime::ByteStream> socket_;
    std::vector<base::Slice> control_queue_;
    std::vector<Lane*> lanes_;
    Lane* inside_ = nullptr;  // in the middle of its message
    Lane* turn_ = nullptr;    // is being served
    size_t next_ = 0;         // whose turn comes next: index in lanes_
    bool blocked_ = false;    // the socket takes no more; the loop will say when it does
    std::string why_;
    base::CloseReason reason_ = base::CloseReason::kUnknown;
    uint64_t received_bytes_ = 0;
    uint64_t sent_words_bytes_ = 0;
};

}  // namespace service::rtmp
