#include "service/rtsp/datagram_stream.h"

#include <algorithm>

#include "protocol/rtsp/reader.h"
#include "runtime/loop/clock.h"

namespace service::rtsp {

DatagramStream::DatagramStream(std::unique_ptr<runtime::ByteStream> control, UdpPorts& ports, const Targets& targets)
    : control_(std::move(control)), ports_(ports), targets_(targets) {}

void DatagramStream::park(runtime::ParkedHandler& handler) {
    handler_ = &handler;
    control_->park(*this);
}

void DatagramStream::unpark() {
    control_->unpark();
    handler_ = nullptr;
}

base::Result<size_t> DatagramStream::try_write(std::span<const uint8_t> bytes) {
    const iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    return try_writev({&part, 1});
}

bool DatagramStream::may_send() {
    const int64_t now_ms = runtime::event_ms();
    if (const int64_t tick = now_ms / runtime::TickWheel::kTickMs; tick != tick_) {
        tick_ = tick;
        sent_in_tick_ = 0;
    }
    if (sent_in_tick_ < kBurstBytes && !is_full()) return true;
    set(now_ms + 1);  // the next tick
    return false;
}

bool DatagramStream::is_full() const {
    return ports_.is_full() ||
           std::ranges::any_of(targets_, [](const Target& target) { return target.ports && target.ports->is_full(); });
}

base::Result<size_t> DatagramStream::try_writev(std::span<const iovec> parts) {
    size_t accepted = 0;
    auto& frames = ports_.frames();
    frames.clear();
    for (const iovec& part : parts) {
        std::span<const uint8_t> bytes(static_cast<const uint8_t*>(part.iov_base), part.iov_len);
        if (!bytes.empty() && bytes[0] != '$') {
            TRY(write_control(bytes));
            accepted += bytes.size();
            continue;
        }
        while (!bytes.empty()) {
            if (!may_send()) {
                send_frames(frames);
                return accepted;
            }
            CHECK(bytes.size() >= ::rtsp::kFrameHeaderSize && bytes[0] == '$');
            const size_t size = ::rtsp::kFrameHeaderSize + (size_t{bytes[2]} << 8 | bytes[3]);
            CHECK(size <= bytes.size());
            frames.push_back(bytes.first(size));
            sent_in_tick_ += size;
            accepted += size;
            bytes = bytes.subspan(size);
        }
    }
    send_frames(frames);
    return accepted;
}

// A pass for each track; the order of its datagrams is kept.
void DatagramStream::send_frames(std::span<const std::span<const uint8_t>> frames) {
    uint32_t tracks = 0;  // bits: those that have frames
    for (const auto& frame : frames) tracks |= uint32_t{1} << std::min(frame[1] / 2, 31);
    for (size_t track = 0; track < targets_.size(); ++track) {
        if (!(tracks >> track & 1)) continue;
        UdpPorts& ports = targets_[track].ports ? *targets_[track].ports : ports_;
        for (const auto& frame : frames) {
            if (frame[1] / size_t{2} != track) continue;
            const bool rtcp = frame[1] % 2 == 1;
            ports.send(rtcp, rtcp ? targets_[track].rtcp : targets_[track].rtp,
                       frame.subspan(::rtsp::kFrameHeaderSize));
        }
    }
}

// Answers to requests, few and short.
base::Result<void> DatagramStream::write_control(std::span<const uint8_t> bytes) {
    size_t sent = 0;
    if (unsent_.empty()) sent = TRY(control_->try_write(bytes));
    if (unsent_.size() + bytes.size() - sent > kMaxControlBytes)
        return base::fail(base::Code::kLimit, "answers to requests are not read");
    unsent_.append(reinterpret_cast<const char*>(bytes.data()) + sent, bytes.size() - sent);
    return {};
}

void DatagramStream::on_writable() {
    auto sent = control_->try_write({reinterpret_cast<const uint8_t*>(unsent_.data()), unsent_.size()});
    if (!sent) return handler_->on_hangup();
    unsent_.erase(0, *sent);
}

void DatagramStream::on_due() {
    if (handler_) handler_->on_writable();
}

}  // namespace service::rtsp
