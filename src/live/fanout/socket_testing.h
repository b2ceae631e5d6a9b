#pragma once
// For tests of viewers: a socket without a network.

#include <algorithm>
#include <memory>
#include <string>

#include "runtime/socket/byte_stream.h"

namespace live::testing {

// A socket whose peer accepts only as much as the test allows. The accepted bytes outlive it.
struct Wire {
    std::string accepted;
    size_t room = SIZE_MAX;
    size_t keep = SIZE_MAX;  // how many of the accepted bytes are kept, the newest
    std::string input;
    bool end = false;
    bool closed = false;
    uint64_t unacknowledged = 0;  // bytes that are still in flight
    bool resets = false;          // each write fails
    bool edge = false;            // room was made since a write was lent
    bool blocked = false;         // as a Watch that waits for an edge
    bool is_tls = false;
    runtime::ParkedHandler* handler = nullptr;

    void make_room(size_t bytes) {
        room = bytes;
        edge = true;
        blocked = false;
        if (handler) handler->on_writable();
    }
};

class FakeSocket : public runtime::ByteStream {
  public:
    explicit FakeSocket(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
    ~FakeSocket() override {
        wire_->closed = true;
        wire_->handler = nullptr;
    }
    base::Result<size_t> read(std::span<uint8_t>, runtime::Deadline) override { return 0; }
    base::Result<void> write(std::span<const uint8_t>, runtime::Deadline) override { return {}; }
    base::Result<void> writev(std::span<iovec>, runtime::Deadline) override { return {}; }
    base::Result<TryRead> try_read(std::span<uint8_t> buffer) override {
        size_t n = std::min(buffer.size(), wire_->input.size());
        std::copy_n(wire_->input.begin(), n, buffer.begin());
        wire_->input.erase(0, n);
        return TryRead{n, wire_->end && n == 0};
    }
    base::Result<size_t> try_write(std::span<const uint8_t> bytes) override {
        size_t n = std::min(bytes.size(), wire_->blocked ? 0 : wire_->room);
        wire_->accepted.append(reinterpret_cast<const char*>(bytes.data()), n);
        if (wire_->room != SIZE_MAX) wire_->room -= n;
        if (wire_->accepted.size() > wire_->keep) wire_->accepted.erase(0, wire_->accepted.size() - wire_->keep);
        return n;
    }
    base::Result<size_t> try_writev(std::span<const iovec> parts) override {
        if (wire_->resets) return base::fail(base::Code::kClosed, "writing: reset");
        size_t total = 0;
        for (const iovec& part : parts) {
            size_t n = *try_write({static_cast<const uint8_t*>(part.iov_base), part.iov_len});
            total += n;
            if (n < part.iov_len) break;
        }
        return total;
    }
    LentWrite lend_write() override {
        wire_->edge = false;
        return {wire_->blocked ? nullptr : &write_lent, this};
    }
    base::Result<size_t> end_lent_write(WriteResult result) override {
        if (result.bytes < 0) return base::fail(base::Code::kClosed, "writing: reset");
        wire_->blocked = result.blocked && !wire_->edge;
        return static_cast<size_t>(result.bytes);
    }
    void park(runtime::ParkedHandler& handler) override { wire_->handler = &handler; }
    void unpark() override { wire_->handler = nullptr; }
    bool peer_gone() const override { return false; }
    int plain_fd() const override { return -1; }
    void set_no_delay(bool) override {}
    void acknowledge_soon() override {}
    void pace_reads(int64_t) override {}
    void shutdown_write() override {}
    base::Result<uint64_t> try_finish() override { return wire_->unacknowledged; }
    std::string peer_ip() const override { return "127.0.0.1"; }
    std::string peer_address() const override { return "127.0.0.1:1"; }
    bool is_tls() const override { return wire_->is_tls; }

  private:
    static WriteResult write_lent(void* stream, std::span<iovec> parts, runtime::DatagramSink&) {
        auto sent = static_cast<FakeSocket*>(stream)->try_writev(parts);
        if (!sent) return {-1};
        size_t wanted = 0;
        for (const iovec& part : parts) wanted += part.iov_len;
        return {static_cast<ssize_t>(*sent), *sent < wanted};
    }

    std::shared_ptr<Wire> wire_;
};

}  // namespace live::testing
