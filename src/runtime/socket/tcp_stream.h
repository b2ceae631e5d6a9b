#pragma once
// Internal. The plain ByteStream; TLS wraps it and needs its readiness state.

#include "runtime/loop/reactor.h"
#include "runtime/socket/address.h"
#include "runtime/socket/byte_stream.h"

namespace runtime::detail {

// Removes n written bytes, and empty parts, from the front.
std::span<iovec> take_off(std::span<iovec> parts, size_t n);

class TcpStream final : public ByteStream {
  public:
    ~TcpStream() override;
    // Takes ownership of a connected, non-blocking socket.
    static base::Result<std::unique_ptr<TcpStream>> make(int fd, const base::Endpoint& peer);

    base::Result<size_t> read(std::span<uint8_t> buffer, Deadline deadline) override;
    base::Result<void> write(std::span<const uint8_t> bytes, Deadline deadline) override;
    base::Result<void> writev(std::span<iovec> parts, Deadline deadline) override;
    base::Result<TryRead> try_read(std::span<uint8_t> buffer) override;
    base::Result<size_t> try_write(std::span<const uint8_t> bytes) override;
    base::Result<size_t> try_writev(std::span<const iovec> parts) override;
    LentWrite lend_write() override;
    base::Result<size_t> end_lent_write(WriteResult result) override;
    base::Result<size_t> try_send_file(std::span<const uint8_t> head, int file, uint64_t offset, size_t bytes) override;
    base::Result<void> await_writable(Deadline deadline, size_t moved) override;
    void park(ParkedHandler& handler) override { watch_.park(handler); }
    void unpark() override { watch_.unpark(); }
    bool peer_gone() const override;
    int plain_fd() const override { return watch_.fd(); }
    void set_no_delay(bool on) override;
    void acknowledge_soon() override;
    void pace_reads(int64_t interval_ms) override { watch_.pace(interval_ms); }
    bool poll_now() override { return watch_.poll_now(); }
    void shutdown_write() override;
    base::Result<uint64_t> try_finish() override;
    void cancel_at_end(bool on) override { watch_.cancel_at_end(on); }
    std::string peer_ip() const override { return peer_.ip.text(); }
    std::string peer_address() const override { return peer_.text(); }
    bool is_tls() const override { return false; }

    Watch& watch() { return watch_; }
    // Whether a read would return now.
    bool has_input();
    // As try_read() and try_write(), on another thread while the loop uses neither: the Watch is the loop's.
    base::Result<TryRead> read_on_thread(std::span<uint8_t> buffer) const;
    base::Result<size_t> write_on_thread(std::span<const uint8_t> bytes) const;

  private:
    base::Result<size_t> send_parts(std::span<const iovec> parts, int flags);

    Watch watch_;
    base::Endpoint peer_;
    bool shut_ = false;  // for writing
};

}  // namespace runtime::detail
