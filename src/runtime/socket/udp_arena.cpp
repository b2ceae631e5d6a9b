#include "runtime/socket/udp_arena.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/result.h"
#include "runtime/socket/address.h"
#include "runtime/socket/udp_sources.h"

namespace runtime {

// The arguments of one sendmmsg.
struct UdpArena::Slots {
    struct Control {
        alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(sizeof(uint16_t)) + detail::UdpSources::kControlBytes> bytes;
    };
    std::array<mmsghdr, kMaxAtOnce> messages;
    std::array<std::array<iovec, kMaxRuns + 1>, kMaxAtOnce> parts;
    std::array<sockaddr_in6, kMaxAtOnce> to;
    std::array<Control, kMaxAtOnce> control;
};

UdpArena::UdpArena() : buffer_(static_cast<uint8_t*>(std::malloc(kBytes)), &::free), slots_(std::make_unique<Slots>()) {
    CHECK(buffer_);
    messages_.reserve(kMaxMessages);
}

UdpArena::~UdpArena() = default;

void UdpArena::use(UdpOutput& output, bool v6, bool gso) {
    CHECK(empty());
    output_ = &output;
    v6_ = v6;
    gso_ = gso;
}

bool UdpArena::add_to_runs(Message& message, uint32_t offset, uint32_t bytes) {
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
bool UdpArena::join(Message& message, uint32_t offset, uint32_t bytes, uint32_t flow) {
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

void UdpArena::commit(size_t bytes, const base::Endpoint& to, uint32_t flow, uint16_t source) {
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
}

void UdpArena::prepare(size_t slot, const Message& message) {
    sockaddr_in6& to = slots_->to[slot];
    mmsghdr& out = slots_->messages[slot];
    out = {};
    out.msg_hdr.msg_namelen = detail::write_address(message.to, v6_, to);
    auto& parts = slots_->parts[slot];
    size_t part = 0;
    for (; part < message.run_count; ++part)
        parts[part] = {buffer_.get() + message.runs[part].offset, message.runs[part].bytes};
    if (message.tail.bytes > 0) parts[part++] = {buffer_.get() + message.tail.offset, message.tail.bytes};
    out.msg_hdr.msg_name = &to;
    out.msg_hdr.msg_iov = parts.data();
    out.msg_hdr.msg_iovlen = part;
    if (message.count > 1 || message.source != 0) add_control(slot, message);
}

void UdpArena::add_control(size_t slot, const Message& message) {
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
    if (const base::IpAddress* source = message.source ? output_->source(message.source) : nullptr)
        used += detail::write_source(reinterpret_cast<cmsghdr*>(room.data() + used), v6_, *source);
    msghdr& out = slots_->messages[slot].msg_hdr;
    out.msg_control = used ? room.data() : nullptr;
    out.msg_controllen = used;
}

int UdpArena::send_some(size_t count) {
    ++counters_.calls;
    return output_->send_messages({slots_->messages.data(), count});
}

bool UdpArena::flush() {
    while (first_ < messages_.size()) {
        const size_t count = std::min(messages_.size() - first_, kMaxAtOnce);
        for (size_t i = 0; i < count; ++i) prepare(i, messages_[first_ + i]);
        const int sent = send_some(count);
        if (sent <= 0) {
            if (!handle_error(-sent)) return false;
            continue;
        }
        size_t datagrams = 0;
        for (int i = 0; i < sent; ++i) datagrams += messages_[first_ + static_cast<size_t>(i)].count;
        output_->count_sent(datagrams, 0);
        counters_.messages += static_cast<uint64_t>(sent);
        first_ += static_cast<size_t>(sent);
    }
    messages_.clear();
    first_ = 0;
    used_ = 0;
    return true;
}

// Of the first message only: no route, no buffers (ENOBUFS), or segments that this path does not support. False: the
// socket is full.
bool UdpArena::handle_error(int error) {
    if (error == EAGAIN) return false;
    if (error == EINTR) return true;
    Message& message = messages_[first_];
    if (message.count == 1 || error == ENOBUFS) {
        drop_first();
        return true;
    }
    // EIO: the device does not support it; EINVAL, EMSGSIZE: a path with a small MTU, where IP fragments.
    if (error == EIO || error == ENOPROTOOPT || error == EOPNOTSUPP) gso_ = false;
    ++counters_.split;
    return send_singly(message);
}

bool UdpArena::send_singly(Message& message) {
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
        output_->count_sent(sent == 1, sent != 1);
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

void UdpArena::drop_first() { output_->count_sent(0, messages_[first_++].count); }

void UdpArena::drop_all() {
    while (!empty()) drop_first();
    messages_.clear();
    first_ = 0;
    used_ = 0;
}

void UdpArena::compact() {
    if (first_ == 0 || empty()) return;
    const uint32_t moved = messages_[first_].start;
    std::memmove(buffer_.get(), buffer_.get() + moved, used_ - moved);
    messages_.erase(messages_.begin(), messages_.begin() + static_cast<ptrdiff_t>(first_));
    for (Message& message : messages_) {
        message.start -= moved;
        message.tail.offset -= moved;
        for (Piece& run : message.runs) run.offset -= moved;
    }
    used_ -= moved;
    first_ = 0;
}

}  // namespace runtime
