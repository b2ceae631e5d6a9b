#include "runtime/socket/udp_batch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/socket/address.h"
#include "runtime/socket/udp_sources.h"

namespace runtime {
// The arguments of one sendmmsg.
struct UdpBatch::Slots {
    struct Control {
        alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(sizeof(uint16_t)) + detail::UdpSources::kControlBytes> bytes;
    };
    std::array<mmsghdr, kMaxAtOnce> messages;
    std::array<std::array<iovec, kMaxRuns + 1>, kMaxAtOnce> parts;
    std::array<sockaddr_in6, kMaxAtOnce> to;
    std::array<Control, kMaxAtOnce> control;
};

UdpBatch::UdpBatch(UdpSocket& socket)
    : socket_(socket),
      v6_(socket.is_v6()),
      gso_(socket.can_segment()),
      arena_(static_cast<uint8_t*>(std::malloc(kArenaBytes)), &::free),
      slots_(std::make_unique<Slots>()) {
    CHECK(arena_);
    messages_.reserve(kMaxMessages);
    sender_ = spawn("udp-send", [this] { send_loop(); });
}

UdpBatch::~UdpBatch() {
    if (sender_) sender_.cancel_and_join();
    while (first_ < messages_.size()) drop_first();
}

void UdpBatch::send_loop() {
    while (waiting_.wait(Deadline::never())) {
        if (full_) {
            if (!socket_.wait_writable(Deadline::never())) return;
            full_ = false;
        }
        waiting_.reset();
        flush();
        if (full_) waiting_.set();
    }
}

uint8_t* UdpBatch::reserve(size_t max_bytes) {
    if (used_ >= kFlushBytes && !full_) flush();
    if (used_ + max_bytes > kArenaBytes || messages_.size() >= kMaxMessages) {
        flush();
        if (full_) compact();
    }
    if (used_ + max_bytes > kArenaBytes || messages_.size() >= kMaxMessages) {
        socket_.count_sent(0, 1);
        return nullptr;
    }
    return arena_.get() + used_;
}

bool UdpBatch::add_to_runs(Message& message, uint32_t offset, uint32_t bytes) {
    Piece& last = message.runs[message.run_count - 1];
    if (last.offset + last.bytes == offset) {
        last.bytes += bytes;
    } else if (message.run_count < kMaxRuns) {
        message.runs[message.run_count++] = {offset, bytes};
    } else {
        return false;
    }
    return true;
}

// Whether the datagram can be one of the message's segments.
bool UdpBatch::join(Message& message, uint32_t offset, uint32_t bytes, uint32_t flow) {
    const bool has_tail = message.tail.bytes > 0;
    if (bytes == message.segment) {
        if (has_tail && message.tail_flow == flow) return false;
        if (!add_to_runs(message, offset, bytes)) return false;
    } else if (has_tail) {
        return false;
    } else if (bytes < message.segment) {
        message.tail = {offset, bytes};
        message.tail_flow = flow;
    } else {
        // Longer than the only one there, which is moved behind it.
        if (message.count > 1 || message.flow == flow) return false;
        message.tail = message.runs[0];
        message.tail_flow = message.flow;
        message.runs[0] = {offset, bytes};
        message.segment = static_cast<uint16_t>(bytes);
    }
    message.bytes += bytes;
    ++message.count;
    return true;
}

void UdpBatch::commit(size_t bytes, const base::Endpoint& to, uint32_t flow, uint16_t source) {
    const auto offset = static_cast<uint32_t>(used_);
    const auto size = static_cast<uint32_t>(bytes);
    used_ += bytes;
    if (messages_.size() > first_ && gso_) {
        Message& last = messages_.back();
        if (last.count < kMaxSegments && last.bytes + bytes <= kMaxGsoBytes && last.to == to && last.source == source &&
            join(last, offset, size, flow))
            return;
    }
    messages_.push_back(
        {to, static_cast<uint16_t>(bytes), 1, source, offset, size, flow, 0, {}, {Piece{offset, size}}, 1});
    if (!waiting_.is_set()) waiting_.set();
}

void UdpBatch::prepare(size_t slot, const Message& message) {
    sockaddr_in6& to = slots_->to[slot];
    mmsghdr& out = slots_->messages[slot];
    out = {};
    out.msg_hdr.msg_namelen = detail::write_address(message.to, v6_, to);
    auto& parts = slots_->parts[slot];
    size_t part = 0;
    for (; part < message.run_count; ++part)
        parts[part] = {arena_.get() + message.runs[part].offset, message.runs[part].bytes};
    if (message.tail.bytes > 0) parts[part++] = {arena_.get() + message.tail.offset, message.tail.bytes};
    out.msg_hdr.msg_name = &to;
    out.msg_hdr.msg_iov = parts.data();
    out.msg_hdr.msg_iovlen = part;
    if (message.count > 1 || message.source != 0) add_control(slot, message);
}

void UdpBatch::add_control(size_t slot, const Message& message) {
    auto& room = slots_->control[slot].bytes;
    size_t used = 0;
    if (message.count > 1) {
        auto* head = reinterpret_cast<cmsghdr*>(room.data());
        head->cmsg_level = IPPROTO_UDP;
        head->cmsg_type = detail::kUdpSegment;
        head->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        std::memcpy(CMSG_DATA(head), &message.segment, sizeof message.segment);
        used = CMSG_SPACE(sizeof(uint16_t));
    }
    if (const base::IpAddress* source = message.source ? socket_.source(message.source) : nullptr)
        used += detail::write_source(reinterpret_cast<cmsghdr*>(room.data() + used), v6_, *source);
    msghdr& out = slots_->messages[slot].msg_hdr;
    out.msg_control = used ? room.data() : nullptr;
    out.msg_controllen = used;
}

int UdpBatch::send_some(size_t count) {
    ++counters_.calls;
    return socket_.send_messages({slots_->messages.data(), count});
}

void UdpBatch::flush() {
    while (first_ < messages_.size() && !full_) {
        const size_t count = std::min(messages_.size() - first_, kMaxAtOnce);
        for (size_t i = 0; i < count; ++i) prepare(i, messages_[first_ + i]);
        const int sent = send_some(count);
        if (sent > 0) {
            size_t datagrams = 0;
            for (int i = 0; i < sent; ++i) datagrams += messages_[first_ + static_cast<size_t>(i)].count;
            socket_.count_sent(datagrams, 0);
            counters_.messages += static_cast<uint64_t>(sent);
            first_ += static_cast<size_t>(sent);
        } else if (sent == -EAGAIN) {
            full_ = true;
        } else if (sent != -EINTR) {
            // An error concerns only the first message: no route, no buffers (ENOBUFS), or segments that this path does
            // not support.
            Message& message = messages_[first_];
            if (message.count > 1 && sent != -ENOBUFS) {
                // EIO: the device does not support it; EINVAL, EMSGSIZE: a path with a small MTU, where IP fragments.
                if (sent == -EIO || sent == -ENOPROTOOPT || sent == -EOPNOTSUPP) gso_ = false;
                ++counters_.split;
                if (!send_singly(message)) full_ = true;
            } else {
                drop_first();
            }
        }
    }
    if (full_) {
        ++counters_.full;
        socket_.write_would_block();
        if (!waiting_.is_set()) waiting_.set();
    } else {
        all_sent();
    }
}

bool UdpBatch::send_singly(Message& message) {
    while (message.count > 0) {
        const bool is_tail = message.run_count == 0;
        Piece& piece = is_tail ? message.tail : message.runs[0];
        const uint32_t bytes = is_tail ? piece.bytes : std::min<uint32_t>(message.segment, piece.bytes);
        Message one = message;
        one.count = 1;
        one.runs[0] = {piece.offset, bytes};
        one.run_count = 1;
        one.tail = {};
        prepare(0, one);
        const int sent = send_some(1);
        if (sent == -EAGAIN) return false;
        if (sent == -EINTR) continue;
        socket_.count_sent(sent == 1, sent != 1);
        if (sent == 1) ++counters_.messages;
        piece.offset += bytes;
        piece.bytes -= bytes;
        if (!is_tail && piece.bytes == 0) {
            std::shift_left(message.runs.begin(), message.runs.end(), 1);
            --message.run_count;
        }
        --message.count;
    }
    ++first_;
    return true;
}

void UdpBatch::drop_first() { socket_.count_sent(0, messages_[first_++].count); }

void UdpBatch::all_sent() {
    messages_.clear();
    first_ = 0;
    used_ = 0;
}

// Moves the pending data to the arena's beginning.
void UdpBatch::compact() {
    if (first_ == 0 || first_ >= messages_.size()) return;
    const size_t offset = messages_[first_].start;
    std::memmove(arena_.get(), arena_.get() + offset, used_ - offset);
    messages_.erase(messages_.begin(), messages_.begin() + static_cast<ptrdiff_t>(first_));
    for (Message& message : messages_) {
        const auto moved = static_cast<uint32_t>(offset);
        message.start -= moved;
        message.tail.offset -= moved;
        for (Piece& run : message.runs) run.offset -= moved;
    }
    used_ -= offset;
    first_ = 0;
}

}  // namespace runtime
