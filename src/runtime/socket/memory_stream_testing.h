#pragma once
// For tests and fuzz targets: MemoryStream, a connection without a network, and MemoryPeer, its other end. No real time
// passes in it, so it goes with SimulatedTime (runtime/loop/simulated_time_testing.h), and a test decides where what
// arrives is cut, how much is accepted, and how the connection ends. The test needs no coroutine for the peer.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/byte_stream.h"

namespace runtime::testing {

// What both ends share.
struct MemoryWire {
    std::string ip;
    std::string to_stream, to_peer;  // sent, not yet read
    size_t room = SIZE_MAX;          // bytes that the stream still accepts
    bool ended = false;              // the peer shut its side
    bool broken = false;             // the peer reset the connection
    bool shut = false;               // the stream shut its side
    bool closed = false;             // the stream was destroyed
    bool blocked = false;            // a write of a parked stream did not fit
    ParkedHandler* handler = nullptr;
    base::Ref<detail::Coroutine> cancelled_at_end;
    Event changed{"a stream in memory"};

    bool is_over() const { return ended || broken; }
    // Each call may destroy the stream.
    void notify() {
        if (is_over() && cancelled_at_end) detail::cancel(*cancelled_at_end);
        changed.pulse();
        if (!handler) return;
        const detail::NoYield scope;
        if (broken) return handler->on_hangup();
        if (!to_stream.empty() || ended) handler->on_readable();
        if (handler && room > 0 && std::exchange(blocked, false)) handler->on_writable();
    }
};

class MemoryStream final : public ByteStream {
  public:
    explicit MemoryStream(std::shared_ptr<MemoryWire> wire) : wire_(std::move(wire)) {}
    ~MemoryStream() override {
        wire_->closed = true;
        wire_->handler = nullptr;
    }

    base::Result<size_t> read(std::span<uint8_t> buffer, Deadline deadline) override {
        while (true) {
            const TryRead got = TRY(try_read(buffer));
            if (got.bytes || got.end) return got.bytes;
            TRY(wire_->changed.wait_next(deadline));
        }
    }
    base::Result<void> write(std::span<const uint8_t> bytes, Deadline deadline) override {
        while (!bytes.empty()) {
            bytes = bytes.subspan(TRY(try_write(bytes)));
            if (!bytes.empty()) TRY(wire_->changed.wait_next(deadline));
        }
        return {};
    }
    base::Result<void> writev(std::span<iovec> parts, Deadline deadline) override {
        for (const iovec& part : parts)
            TRY(write({static_cast<const uint8_t*>(part.iov_base), part.iov_len}, deadline));
        return {};
    }
    base::Result<TryRead> try_read(std::span<uint8_t> buffer) override {
        if (wire_->broken) return base::fail(base::Code::kClosed, "reset by the peer");
        const size_t count = std::min(buffer.size(), wire_->to_stream.size());
        if (count > 0) std::memcpy(buffer.data(), wire_->to_stream.data(), count);
        wire_->to_stream.erase(0, count);
        return TryRead{count, count == 0 && wire_->ended};
    }
    base::Result<size_t> try_write(std::span<const uint8_t> bytes) override {
        CHECK(!wire_->shut);
        if (wire_->broken) return base::fail(base::Code::kClosed, "reset by the peer");
        const size_t count = std::min(bytes.size(), wire_->room);
        wire_->to_peer.append(reinterpret_cast<const char*>(bytes.data()), count);
        if (wire_->room != SIZE_MAX) wire_->room -= count;
        wire_->blocked |= count < bytes.size();
        return count;
    }
    base::Result<size_t> try_writev(std::span<const iovec> parts) override {
        size_t total = 0;
        for (const iovec& part : parts) {
            const size_t count = TRY(try_write({static_cast<const uint8_t*>(part.iov_base), part.iov_len}));
            total += count;
            if (count < part.iov_len) break;
        }
        return total;
    }
    void park(ParkedHandler& handler) override {
        CHECK(!wire_->handler && !wire_->cancelled_at_end);
        wire_->handler = &handler;
        if (wire_->to_stream.empty() && !wire_->is_over()) return;
        spawn("memory-stream", [wire = wire_] { wire->notify(); });
    }
    void unpark() override { wire_->handler = nullptr; }
    bool peer_gone() const override { return wire_->is_over(); }
    int plain_fd() const override { return -1; }
    void set_no_delay(bool) override {}
    void acknowledge_soon() override {}
    void pace_reads(int64_t) override {}
    void cancel_at_end(bool on) override {
        CHECK(on == !wire_->cancelled_at_end);
        wire_->cancelled_at_end = on ? detail::current().self : nullptr;
        if (on && wire_->is_over()) detail::cancel(*wire_->cancelled_at_end);
    }
    void shutdown_write() override { wire_->shut = true; }
    base::Result<uint64_t> try_finish() override {
        wire_->shut = true;
        return 0;
    }
    std::string peer_ip() const override { return wire_->ip; }
    std::string peer_address() const override { return wire_->ip + ":1"; }
    bool is_tls() const override { return false; }

  private:
    std::shared_ptr<MemoryWire> wire_;
};

class MemoryPeer {
  public:
    explicit MemoryPeer(std::string_view ip = "127.0.0.1") { wire_->ip = ip; }
    // To be called once.
    std::unique_ptr<ByteStream> stream() { return std::make_unique<MemoryStream>(wire_); }

    // A parked stream's handler is called at once; a coroutine runs when the caller yields.
    void send(std::string_view bytes) {
        if (wire_->is_over() || bytes.empty()) return;
        wire_->to_stream += bytes;
        wire_->notify();
    }
    void end() {
        wire_->ended = true;
        wire_->notify();
    }
    void reset() {
        wire_->broken = true;
        wire_->notify();
    }
    // How many bytes more are accepted from now on.
    void set_room(size_t bytes) {
        wire_->room = bytes;
        wire_->notify();
    }
    std::string take() { return std::exchange(wire_->to_peer, {}); }
    // The other end has sent all, or is gone.
    bool ended() const { return wire_->shut || wire_->closed; }
    bool closed() const { return wire_->closed; }

  private:
    std::shared_ptr<MemoryWire> wire_ = std::make_shared<MemoryWire>();
};

}  // namespace runtime::testing
