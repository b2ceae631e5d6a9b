#pragma once
// The HTTP tunnel: RTSP over two HTTP requests, for networks that let only those pass. A client sends GET, on which it
// gets responses and interleaved frames, and POST, on which it sends requests in base64. Both have the same
// x-sessioncookie. Both connections have to come from one address.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/admission/admission.h"
#include "protocol/rtsp/base64_stream.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/byte_stream.h"

namespace service::rtsp {

// Both connections as one stream.
class TunnelStream final : public runtime::ByteStream {
  public:
    // early: received on `in` behind its head. ticket: of `in`, which counts as a connection.
    TunnelStream(std::unique_ptr<runtime::ByteStream> out, std::unique_ptr<runtime::ByteStream> in,
                 std::vector<uint8_t> early, net::Admission::Ticket ticket);
    ~TunnelStream() override;

    base::Result<size_t> read(std::span<uint8_t> buffer, runtime::Deadline deadline) override;
    base::Result<TryRead> try_read(std::span<uint8_t> buffer) override;
    base::Result<void> write(std::span<const uint8_t> bytes, runtime::Deadline deadline) override {
        return out_->write(bytes, deadline);
    }
    base::Result<void> writev(std::span<iovec> parts, runtime::Deadline deadline) override {
        return out_->writev(parts, deadline);
    }
    base::Result<size_t> try_write(std::span<const uint8_t> bytes) override { return out_->try_write(bytes); }
    base::Result<size_t> try_writev(std::span<const iovec> parts) override { return out_->try_writev(parts); }
    void park(runtime::ParkedHandler& handler) override;
    void unpark() override;
    bool peer_gone() const override { return out_->peer_gone() || in_->peer_gone(); }
    int plain_fd() const override { return -1; }
    void set_no_delay(bool on) override { out_->set_no_delay(on); }
    void acknowledge_soon() override { in_->acknowledge_soon(); }
    void pace_reads(int64_t interval_ms) override { in_->pace_reads(interval_ms); }
    void cancel_at_end(bool on) override { out_->cancel_at_end(on); }
    void shutdown_write() override { out_->shutdown_write(); }
    base::Result<uint64_t> try_finish() override { return out_->try_finish(); }
    std::string peer_ip() const override { return out_->peer_ip(); }
    std::string peer_address() const override { return out_->peer_address(); }
    bool is_tls() const override { return out_->is_tls() && in_->is_tls(); }

  private:
    class Side final : public runtime::ParkedHandler {
      public:
        Side(TunnelStream& stream, bool out) : stream_(stream), out_(out) {}

      private:
        void on_readable() override;
        void on_writable() override;
        void on_hangup() override { stream_.handler_->on_hangup(); }
        TunnelStream& stream_;
        bool out_;
    };
    base::Result<void> decode(std::span<const uint8_t> text);
    size_t take_decoded(std::span<uint8_t> buffer);

    std::unique_ptr<runtime::ByteStream> out_, in_;
    net::Admission::Ticket ticket_;
    ::rtsp::Base64Stream decoder_;
    std::vector<uint8_t> decoded_;
    size_t taken_ = 0;  // of decoded_
    bool broken_ = false;
    runtime::ParkedHandler* handler_ = nullptr;
    Side out_side_{*this, true}, in_side_{*this, false};
};

// The GETs that wait for their POST.
class Tunnels {
  public:
    static constexpr int64_t kWaitMs = 10'000;
    static constexpr size_t kMaxWaiting = 1'000;
    static constexpr size_t kMaxCookie = 128;  // bytes

    struct Half {
        std::unique_ptr<runtime::ByteStream> socket;
        std::vector<uint8_t> early;
    };
    // Waits for the POST with that cookie from the address. Yields. kBusy: another GET has that cookie; kLimit: too
    // many wait; kTimeout.
    base::Result<Half> wait(const std::string& ip, const std::string& cookie);
    // Gives the half to the GET that waits. False: none does.
    bool join(const std::string& ip, const std::string& cookie, Half& half);

  private:
    struct Waiting {
        Half half;
        runtime::Event joined{"the POST of a tunnel"};
    };
    std::map<std::pair<std::string, std::string>, Waiting*> waiting_;  // by address and cookie
};

}  // namespace service::rtsp
