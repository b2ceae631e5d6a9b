#pragma once
// Connection: the socket and dialog that a viewer and a publisher of the load have in common. open() is a coroutine's;
// once it is open it is parked, and costs nothing but its bytes.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "load/dialog.h"
#include "load/ledger.h"
#include "load/target.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"

namespace load {

class Connection : private runtime::ParkedHandler, private MediaSink {
  public:
    Connection(Target target, Role role, Ledger& ledger) : target_(std::move(target)), role_(role), ledger_(ledger) {}
    virtual ~Connection() { close(); }
    Connection(const Connection&) = delete;

    // Connects and talks until the server has accepted, then parks. Yields. The ledger is told of success and failure.
    base::Result<void> open(runtime::Deadline deadline);
    bool is_open() const { return open_; }
    // Ends it from our side: counted neither as failed nor as lost.
    void close();
    int64_t begun_us() const { return begun_us_; }
    // What is sent once it is open goes in writes of so many bytes, each a TCP segment of its own; 0: as it comes.
    void cut_into(size_t segment_bytes) { segment_bytes_ = segment_bytes; }

  protected:
    // Before the dialog begins. What it opens is released by release().
    virtual base::Result<void> prepare(DialogOptions&, runtime::Deadline) { return {}; }
    virtual void release() {}
    virtual void on_opened() {}
    virtual void on_media_message(const MediaMessage&) {}
    virtual void on_rtp_packet(int) {}  // MediaSink::on_packet()
    virtual void on_bytes(size_t) {}    // before their messages; arrival_us() is when
    virtual void on_ended() {}

    const Target& target() const { return target_; }
    // Media by UDP, also before it is open.
    void take_datagram(size_t track, std::span<const uint8_t> packet);
    // Sends, or keeps what the socket does not take now. Order is kept.
    void send(std::span<const uint8_t> bytes);
    size_t unsent() const { return unsent_.size(); }
    uint32_t stream_id() const { return dialog_->stream_id(); }
    int64_t arrival_us() const { return arrival_us_; }
    Ledger& ledger() { return ledger_; }

  private:
    // A peer that takes nothing while this much is due is lost.
    static constexpr size_t kMaxUnsent = 4 << 20;

    base::Result<void> converse(runtime::Deadline deadline);
    base::Result<void> take(std::span<const uint8_t> bytes);
    base::Result<void> read_all();
    base::Result<void> flush();
    base::Result<size_t> write_in_segments(std::span<const uint8_t> bytes);
    void lose(const base::Error& error);
    void on_media(const MediaMessage& message) final;
    void on_packet(int missing) final { on_rtp_packet(missing); }
    void on_readable() final;
    void on_writable() final;
    void on_hangup() final;

    Target target_;
    Role role_;
    Ledger& ledger_;
    std::unique_ptr<runtime::ByteStream> stream_;
    std::unique_ptr<Dialog> dialog_;
    std::vector<uint8_t> unsent_;
    int64_t begun_us_ = 0;
    int64_t arrival_us_ = 0;
    size_t segment_bytes_ = 0;
    bool open_ = false;
};

}  // namespace load
