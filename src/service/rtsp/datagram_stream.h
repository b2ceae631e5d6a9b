#pragma once
// DatagramStream: the connection of a player by UDP, as a stream of bytes: interleaved frames that are written to it go
// out as datagrams, to the address of their channel, and all else on the connection of the requests. So a player by UDP
// is a live::Viewer of the same log as one by TCP. Requests are read from the connection.
//
// A write must have one kind in each part, and whole frames, as live::Viewer writes them. It accepts kBurstBytes in
// a tick of 5 ms, because a burst of several hundred kB, as a new player's first seconds are, overflows receivers.
// Of a write the datagrams of each address go one behind the other: the kernel takes those of one size, and a shorter
// one behind them, as one message. A sender thread may make the write: then it sends the datagrams too.

#include <array>
#include <memory>
#include <string>

#include "runtime/loop/timers.h"
#include "runtime/senders/send_work.h"
#include "runtime/socket/byte_stream.h"
#include "service/rtsp/tracks.h"
#include "service/rtsp/udp_ports.h"

namespace service::rtsp {

class DatagramStream final : public runtime::ByteStream, private runtime::ParkedHandler, private runtime::Timer {
  public:
    static constexpr size_t kBurstBytes = 64 * 1024;
    static constexpr size_t kMaxControlBytes = 64 * 1024;

    // Where the frames of channels 2i and 2i + 1 go.
    struct Target {
        base::Endpoint rtp{};
        base::Endpoint rtcp{};
        UdpPorts* ports = nullptr;  // where they are sent from; null: the stream's
    };
    using Targets = std::array<Target, kMaxPlayTracks>;

    // All ports must outlive it. ports: of the server, or of a client's first track.
    DatagramStream(std::unique_ptr<runtime::ByteStream> control, UdpPorts& ports, const Targets& targets);

    base::Result<size_t> read(std::span<uint8_t> buffer, runtime::Deadline deadline) override {
        return control_->read(buffer, deadline);
    }
    base::Result<void> write(std::span<const uint8_t> bytes, runtime::Deadline deadline) override {
        return control_->write(bytes, deadline);
    }
    base::Result<void> writev(std::span<iovec> parts, runtime::Deadline deadline) override {
        return control_->writev(parts, deadline);
    }
    base::Result<TryRead> try_read(std::span<uint8_t> buffer) override { return control_->try_read(buffer); }
    base::Result<size_t> try_write(std::span<const uint8_t> bytes) override;
    base::Result<size_t> try_writev(std::span<const iovec> parts) override;
    // A thread sends frames, up to what is no frame: that is left to the loop.
    LentWrite lend_write() override;
    base::Result<size_t> end_lent_write(WriteResult result) override;
    void park(runtime::ParkedHandler& handler) override;
    void unpark() override;
    bool peer_gone() const override { return control_->peer_gone(); }
    int plain_fd() const override { return -1; }
    void set_no_delay(bool on) override { control_->set_no_delay(on); }
    void acknowledge_soon() override { control_->acknowledge_soon(); }
    void pace_reads(int64_t interval_ms) override { control_->pace_reads(interval_ms); }
    void cancel_at_end(bool on) override { control_->cancel_at_end(on); }
    void shutdown_write() override { control_->shutdown_write(); }
    base::Result<uint64_t> try_finish() override { return control_->try_finish(); }
    std::string peer_ip() const override { return control_->peer_ip(); }
    std::string peer_address() const override { return control_->peer_address(); }
    bool is_tls() const override { return control_->is_tls(); }

  private:
    // What a thread sends by: made once, for where the ports are does not change.
    struct Lent {
        std::array<std::array<runtime::DatagramTarget, 2>, kMaxPlayTracks> targets{};  // of RTP, of RTCP
        size_t max_bytes = 0;                                                          // of this write
    };
    void make_lent();
    static WriteResult write_lent(void* stream, std::span<iovec> parts, runtime::DatagramSink& sink);
    void on_readable() override { handler_->on_readable(); }
    void on_writable() override;
    void on_hangup() override { handler_->on_hangup(); }
    void on_due() override;
    bool may_send();
    bool is_full() const;
    UdpPorts& ports_of(const Target& target) const { return target.ports ? *target.ports : ports_; }
    void send_frames(std::span<const std::span<const uint8_t>> frames);
    base::Result<void> write_control(std::span<const uint8_t> bytes);

    std::unique_ptr<runtime::ByteStream> control_;
    UdpPorts& ports_;
    const Targets targets_;
    std::unique_ptr<Lent> lent_;  // from the first write on that is lent
    runtime::ParkedHandler* handler_ = nullptr;
    std::string unsent_;  // of the connection
    int64_t tick_ = 0;
    size_t sent_in_tick_ = 0;  // bytes
};

}  // namespace service::rtsp
