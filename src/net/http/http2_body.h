#pragma once
// Http2Body: the body of a response over HTTP/2 as a stream of bytes, which is only written: what handlers and viewers
// know of a connection. It outlives its Http2Stream: then the peer is gone.

#include <memory>
#include <string>

#include "runtime/loop/cpu_slice.h"
#include "runtime/socket/byte_stream.h"

namespace net {

class Http2Stream;

class Http2Body final : public runtime::ByteStream {
  public:
    explicit Http2Body(Http2Stream& stream);
    // Without finish() before it the client sees that the body was cut off.
    ~Http2Body() override;

    base::Result<size_t> read(std::span<uint8_t> buffer, runtime::Deadline deadline) override;
    base::Result<void> write(std::span<const uint8_t> bytes, runtime::Deadline deadline) override;
    base::Result<void> writev(std::span<iovec> parts, runtime::Deadline deadline) override;
    base::Result<TryRead> try_read(std::span<uint8_t> buffer) override;
    base::Result<size_t> try_write(std::span<const uint8_t> bytes) override;
    base::Result<size_t> try_writev(std::span<const iovec> parts) override;
    base::Result<void> await_writable(runtime::Deadline deadline, size_t moved) override;
    void park(runtime::ParkedHandler& handler) override;
    void unpark() override { handler_ = nullptr; }
    bool peer_gone() const override;
    int plain_fd() const override { return -1; }
    void set_no_delay(bool) override {}
    void acknowledge_soon() override {}
    void pace_reads(int64_t) override {}
    void cancel_at_end(bool on) override;
    void shutdown_write() override;
    base::Result<uint64_t> try_finish() override;
    base::Result<void> finish(runtime::Deadline deadline) override;
    std::string peer_ip() const override { return ip_; }
    std::string peer_address() const override { return address_; }
    bool is_tls() const override { return true; }
    std::string_view protocol() const override { return "h2"; }

    // For the stream: more may be written; it is closed, after finish() or not. Each may destroy this.
    void on_room();
    void on_closed(bool is_finished);

  private:
    static base::Error gone();

    Http2Stream* stream_;  // null: it is closed
    runtime::ParkedHandler* handler_ = nullptr;
    const std::string ip_, address_;
    runtime::CpuSlice slice_{2};
};

}  // namespace net
