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

namespace {

std::span<const uint8_t> take_frame(std::span<const uint8_t>& bytes) {
    CHECK(bytes.size() >= ::rtsp::kFrameHeaderSize && bytes[0] == '$');
    const size_t size = ::rtsp::kFrameHeaderSize + (size_t{bytes[2]} << 8 | bytes[3]);
    CHECK(size <= bytes.size());
    const auto frame = bytes.first(size);
    bytes = bytes.subspan(size);
    return frame;
}

size_t track_of(std::span<const uint8_t> frame) { return frame[1] / 2; }
bool is_rtcp(std::span<const uint8_t> frame) { return frame[1] % 2 == 1; }

}  // namespace

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
            const auto frame = take_frame(bytes);
            frames.push_back(frame);
            sent_in_tick_ += frame.size();
            accepted += frame.size();
        }
    }
    send_frames(frames);
    return accepted;
}

// A pass for each track; the order of its datagrams is kept.
void DatagramStream::send_frames(std::span<const std::span<const uint8_t>> frames) {
    uint32_t tracks = 0;  // bits: those that have frames
    for (const auto& frame : frames) tracks |= uint32_t{1} << std::min<size_t>(track_of(frame), 31);
    for (size_t track = 0; track < targets_.size(); ++track) {
        if (!(tracks >> track & 1)) continue;
        const Target& target = targets_[track];
        for (const auto& frame : frames) {
            if (track_of(frame) != track) continue;
            ports_of(target).send(is_rtcp(frame), is_rtcp(frame) ? target.rtcp : target.rtp,
                                  frame.subspan(::rtsp::kFrameHeaderSize));
        }
    }
}

runtime::ByteStream::LentWrite DatagramStream::lend_write() {
    if (!may_send()) return {};
    if (!lent_) make_lent();
    ports_.flush();
    for (const Target& target : targets_)
        if (target.ports) target.ports->flush();
    lent_->max_bytes = kBurstBytes - sent_in_tick_;
    return {&write_lent, this, std::max(control_->plain_fd(), 0)};
}

void DatagramStream::make_lent() {
    lent_ = std::make_unique<Lent>();
    for (size_t track = 0; track < targets_.size(); ++track) {
        const Target& target = targets_[track];
        lent_->targets[track] = {ports_of(target).target(false, target.rtp),
                                 ports_of(target).target(true, target.rtcp)};
    }
}

// As try_writev(), by what lend_write() has prepared.
runtime::ByteStream::WriteResult DatagramStream::write_lent(void* stream, std::span<iovec> parts,
                                                            runtime::DatagramSink& sink) {
    const Lent& lent = *static_cast<DatagramStream*>(stream)->lent_;
    thread_local std::vector<std::span<const uint8_t>> frames;
    frames.clear();
    size_t accepted = 0;
    bool is_cut = false;
    for (const iovec& part : parts) {
        std::span<const uint8_t> bytes(static_cast<const uint8_t*>(part.iov_base), part.iov_len);
        while (!bytes.empty() && bytes[0] == '$' && accepted < lent.max_bytes)
            accepted += frames.emplace_back(take_frame(bytes)).size();
        is_cut = !bytes.empty();
        if (is_cut) break;
    }
    for (size_t track = 0; track < lent.targets.size(); ++track)
        for (const auto& frame : frames)
            if (track_of(frame) == track)
                sink.send(frame.subspan(::rtsp::kFrameHeaderSize), lent.targets[track][is_rtcp(frame)]);
    return {static_cast<ssize_t>(accepted), is_cut};
}

base::Result<size_t> DatagramStream::end_lent_write(WriteResult result) {
    sent_in_tick_ += static_cast<size_t>(result.bytes);
    return static_cast<size_t>(result.bytes);
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
