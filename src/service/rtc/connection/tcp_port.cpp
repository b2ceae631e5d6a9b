#include "service/rtc/connection/tcp_port.h"

#include <algorithm>
#include <array>

#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"

namespace service::rtc {
namespace {

constexpr size_t kLength = 2;  // before each datagram

// The write buffer for one datagram at a time, shared by all connections.
std::array<uint8_t, kLength + TcpPort::kMaxFrameBytes> room;

base::Endpoint address_of(const runtime::ByteStream& stream) {
    base::Endpoint address;
    const std::string text = stream.peer_address();
    if (auto parsed = runtime::SocketAddress::parse(text)) {
        if (auto ip = base::IpAddress::parse(parsed->ip)) address = {*ip, parsed->port};
    }
    return address;
}

}  // namespace

class TcpPort::Connection final : public Wire, private runtime::ParkedHandler, public net::EvictionCandidate {
  public:
    Connection(TcpPort& port, std::unique_ptr<runtime::ByteStream> stream, int64_t now_ms)
        : port_(port),
          stream_(std::move(stream)),
          peer_(address_of(*stream_)),
          ticket_(port.admission_, peer_.ip),
          since_ms_(now_ms),
          unconfirmed_(port.unconfirmed_.insert(port.unconfirmed_.end(), this)) {
        port_.admission_.embryonic().add(*this, now_ms);
        stream_->set_no_delay(true);
        stream_->park(*this);
    }
    ~Connection() {
        stream_->unpark();
        confirm();
        port_.user_.on_wire_closed(*this);
    }

    int64_t confirm_until_ms() const { return since_ms_ + kConfirmMs; }
    void leave() {
        if (closing_) return;
        closing_ = true;
        port_.close_soon(*this);
    }
    void evict() override {
        ++port_.counters_.replaced;
        ticket_.release();
        leave();
    }

    uint8_t* reserve(size_t max_bytes) override {
        if (!closing_ && max_bytes <= kMaxFrameBytes && backlog_.size() - sent_ <= kMaxBacklogBytes)
            return room.data() + kLength;
        ++port_.counters_.dropped;
        return nullptr;
    }

    void commit(size_t bytes, const base::Endpoint&, uint32_t, uint16_t) override {
        room[0] = static_cast<uint8_t>(bytes >> 8);
        room[1] = static_cast<uint8_t>(bytes);
        std::span<const uint8_t> frame(room.data(), kLength + bytes);
        if (sent_ == backlog_.size()) {
            auto n = stream_->try_write(frame);
            if (!n) return leave();
            frame = frame.subspan(*n);
        }
        backlog_.insert(backlog_.end(), frame.begin(), frame.end());
    }

    void confirm() override {
        if (confirmed_) return;
        confirmed_ = true;
        port_.unconfirmed_.erase(unconfirmed_);
        leave_list();
    }
    bool is_tcp() const override { return true; }
    bool congested() const override { return backlog_.size() - sent_ > kCongestedBytes; }

    size_t index = 0;  // in the port's list

  private:
    void on_readable() override {
        std::span<uint8_t> buffer = runtime::shared_read_buffer();
        while (!closing_) {
            std::ranges::copy(rest_, buffer.begin());
            auto got = stream_->try_read(buffer.subspan(rest_.size(), kReadBytes));
            if (!got || got->end) return leave();
            if (got->bytes == 0) return;
            const size_t size = rest_.size() + got->bytes;
            rest_.clear();
            if (!take(buffer.first(size))) {
                ++port_.counters_.broken;
                return leave();
            }
        }
    }

    bool take(std::span<uint8_t> bytes) {
        const int64_t now_us = runtime::now_us();
        while (bytes.size() >= kLength) {
            const size_t length = static_cast<size_t>(bytes[0] << 8 | bytes[1]);
            if (length > kMaxFrameBytes) return false;
            if (bytes.size() < kLength + length) break;
            if (length > 0) port_.user_.on_datagram(bytes.subspan(kLength, length), peer_, *this, now_us);
            bytes = bytes.subspan(kLength + length);
            if (closing_) return true;
        }
        rest_.assign(bytes.begin(), bytes.end());
        return true;
    }

    void on_writable() override {
        while (sent_ < backlog_.size()) {
            auto n = stream_->try_write(std::span<const uint8_t>(backlog_).subspan(sent_));
            if (!n) return leave();
            if (*n == 0) return;
            sent_ += *n;
        }
        std::vector<uint8_t>().swap(backlog_);
        sent_ = 0;
    }
    void on_hangup() override { leave(); }

    static constexpr size_t kReadBytes = 64 * 1024;
    static constexpr size_t kCongestedBytes = 32 * 1024;

    TcpPort& port_;
    std::unique_ptr<runtime::ByteStream> stream_;
    base::Endpoint peer_;
    net::Admission::Ticket ticket_;
    int64_t since_ms_;
    std::list<Connection*>::iterator unconfirmed_;  // valid until it is confirmed
    bool confirmed_ = false;
    bool closing_ = false;
    std::vector<uint8_t> rest_;     // an incomplete frame
    std::vector<uint8_t> backlog_;  // data to be written, from sent_ on
    size_t sent_ = 0;
};

base::Result<std::unique_ptr<TcpPort>> TcpPort::open(const runtime::SocketAddress& address, WireUser& user,
                                                     net::SessionTable& sessions) {
    std::unique_ptr<TcpPort> port(new TcpPort(user, sessions));
    TRY(port->acceptor_.listen(address));
    return port;
}

TcpPort::TcpPort(WireUser& user, net::SessionTable& sessions)
    : user_(user),
      admission_(sessions.admission()),
      acceptor_(sessions, "WebRTC connection", "rtc-accept",
                {[this](std::unique_ptr<runtime::ByteStream> stream) { take(std::move(stream)); }}) {
    sweeper_ = runtime::spawn("rtc-tcp-close", [this] {
        while (sweep_.wait(runtime::Deadline::never())) {
            sweep_.reset();
            if (!sweep()) return;
        }
    });
}

TcpPort::~TcpPort() {
    acceptor_.stop();
    if (sweeper_) sweeper_.cancel_and_join();
    connections_.clear();
}

// A genuine client confirms within a second.
void TcpPort::take(std::unique_ptr<runtime::ByteStream> stream) {
    if (unconfirmed_.size() >= kMaxUnconfirmed) {
        Connection& oldest = *unconfirmed_.front();
        oldest.confirm();  // it is no longer in the list of unconfirmed ones
        oldest.evict();
    }
    ++counters_.accepted;
    connections_.add(std::make_unique<Connection>(*this, std::move(stream), runtime::now_ms()));
    if (!confirm_timer_.is_set()) confirm_timer_.set(runtime::now_ms() + kConfirmMs);
}

void TcpPort::close_soon(Connection& connection) {
    leaving_.push_back(&connection);
    sweep_.set();
}

// Users are notified of each end, which may end their sessions, but no connection. False: cancelled meanwhile.
bool TcpPort::sweep() {
    runtime::CpuSlice slice;
    while (!leaving_.empty()) {
        Connection& connection = *leaving_.back();
        leaving_.pop_back();
        connections_.remove(connection);
        if (!slice.step()) return false;
    }
    return true;
}

void TcpPort::close_late() {
    for (; !unconfirmed_.empty(); unconfirmed_.front()->confirm()) {
        Connection& oldest = *unconfirmed_.front();
        if (runtime::now_ms() < oldest.confirm_until_ms()) return confirm_timer_.set(oldest.confirm_until_ms());
        ++counters_.unconfirmed;
        oldest.leave();
    }
}

}  // namespace service::rtc
