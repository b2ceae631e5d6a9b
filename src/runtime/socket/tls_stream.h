#pragma once
// Internal. TLS over a TcpStream. OpenSSL reads the socket through our own BIO, which knows the socket's readiness; its
// output is collected in a buffer and sent from there. So OpenSSL itself never waits to write, and bytes that
// try_write() has accepted are encrypted and need not be passed again.

#include <openssl/ssl.h>

#include <optional>
#include <vector>

#include "runtime/socket/tcp_stream.h"
#include "runtime/socket/tls_context.h"

namespace runtime::detail {

class TlsStream final : public ByteStream, private ParkedHandler {
  public:
    TlsStream(std::unique_ptr<TcpStream> plain, std::shared_ptr<SslContext> context);
    // Sends close_notify, and loses what the socket does not take at once: call finish() first.
    ~TlsStream() override;

    base::Result<void> accept(Deadline deadline);
    base::Result<void> connect(const std::string& host_name, Deadline deadline);

    base::Result<size_t> read(std::span<uint8_t> buffer, Deadline deadline) override;
    base::Result<void> write(std::span<const uint8_t> bytes, Deadline deadline) override;
    base::Result<void> writev(std::span<iovec> parts, Deadline deadline) override;
    base::Result<TryRead> try_read(std::span<uint8_t> buffer) override;
    base::Result<size_t> try_write(std::span<const uint8_t> bytes) override;
    base::Result<size_t> try_writev(std::span<const iovec> parts) override;
    LentWrite lend_write() override;
    base::Result<size_t> end_lent_write(WriteResult result) override;
    base::Result<void> await_writable(Deadline deadline, size_t moved) override;
    void park(ParkedHandler& handler) override;
    void unpark() override;
    bool peer_gone() const override { return plain_->peer_gone(); }
    int plain_fd() const override { return -1; }
    void set_no_delay(bool on) override { plain_->set_no_delay(on); }
    void acknowledge_soon() override { plain_->acknowledge_soon(); }
    void pace_reads(int64_t interval_ms) override { plain_->pace_reads(interval_ms); }
    bool poll_now() override { return plain_->poll_now(); }
    void cancel_at_end(bool on) override { plain_->cancel_at_end(on); }
    void shutdown_write() override;
    base::Result<uint64_t> try_finish() override;
    base::Result<uint64_t> try_drain() override;
    base::Result<void> finish(Deadline deadline) override;
    std::string peer_ip() const override { return plain_->peer_ip(); }
    std::string peer_address() const override { return plain_->peer_address(); }
    bool is_tls() const override { return true; }
    std::string_view protocol() const override;

  private:
    friend struct TlsBio;
    void on_readable() override;
    void on_writable() override;
    void on_hangup() override;

    base::Result<void> handshake(Deadline deadline);
    // What can be done without more input. True: the handshake is done.
    base::Result<bool> continue_handshake();
    base::Result<bool> continue_handshake_on_thread(Deadline deadline);
    base::Error failure(int ssl_error);
    bool may_have_input() const;
    static WriteResult write_lent(void* stream, std::span<iovec> parts, DatagramSink&);
    void say_farewell();  // close_notify, after the collected output
    base::Result<void> encrypt(std::span<const uint8_t> record);
    // Sends the collected output; true when nothing is left.
    base::Result<bool> flush();
    base::Result<size_t> send_output();
    base::Result<void> flush_all(Deadline deadline);
    void keep_rest();

    std::unique_ptr<TcpStream> plain_;
    std::shared_ptr<SslContext> context_;
    SSL* ssl_;
    std::vector<uint8_t> out_;  // encrypted, not sent yet; at most one call's worth
    size_t out_sent_ = 0;
    ParkedHandler* handler_ = nullptr;
    std::optional<base::Error> io_error_;  // a socket error that occurred inside OpenSSL
    bool established_ = false;
    bool failed_ = false;
    bool on_thread_ = false;  // another thread uses all of it but the socket's Watch
    // A failure after bytes that were still valid: for the next read. Or that of a lent write: for its end.
    std::optional<base::Error> late_error_;
    bool ended_ = false;        // the socket's end of stream
    bool needs_input_ = false;  // OpenSSL has at most a part of a record: only more input leads on
    bool wants_write_ = false;
    bool shutdown_wanted_ = false;  // when everything is flushed
};

}  // namespace runtime::detail
