#include "service/forward/udp_link.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "protocol/rtp/packet.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/random.h"
#include "runtime/socket/dns.h"
#include "service/relay/ts_messages.h"

namespace service::forward {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int kBufferBytes = 1024 * 1024;
constexpr uint8_t kMp2t = 33;        // RFC 3551, table 5
constexpr int64_t kFullPauseMs = 5;  // when the socket takes nothing

}  // namespace

UdpLink::UdpLink(UdpTargets& targets, UdpTarget target, std::string shown, base::Ref<live::Stream> stream)
    : targets_(targets),
      target_(std::move(target)),
      shown_(std::move(shown)),
      stream_(std::move(stream)),
      lane_(relay::ts_messages(*stream_)) {}

UdpLink::~UdpLink() {
    cancel();
    lane_.leave(*this);
    if (port_) port_->flush();
}

net::SessionType UdpLink::session_type() const {
    static const net::SessionType kType = net::SessionType::add("udp-forward", false);
    return kType;
}

Result<PushLink::Ready> UdpLink::begin(Deadline limit) {
    const auto found = TRY(runtime::resolve(target_.host, limit), target_.host);
    const auto ip = found.empty() ? std::nullopt : base::IpAddress::parse(found.front());
    if (!ip) return fail(Code::kNotFound, fmt::format("{} has no address", target_.host));
    to_ = {*ip, target_.port};
    claim_ = TRY(targets_.claim(to_));
    port_ = TRY(runtime::DatagramPort::open(
        {ip->is_v4() ? "0.0.0.0" : "::", 0},
        {.send_buffer_bytes = kBufferBytes, .multicast_interface = target_.interface, .multicast_ttl = target_.ttl},
        "MPEG-TS to " + to_.text(), *this));
    sequence_ = static_cast<uint16_t>(runtime::secret_u32());
    ssrc_ = runtime::secret_u32();
    Ready ready;
    ready.detail = target_.rtp ? "MPEG-TS in RTP" : "MPEG-TS";
    ready.sender = this;
    return ready;
}

void UdpLink::start(PacketSenderUser& user) {
    user_ = &user;
    lane_.join(*this, 0);
}

bool UdpLink::on_packets(int64_t now_us) {
    pump(now_us);
    return false;  // what is sent later is the timer's
}

void UdpLink::on_due() { pump(runtime::now_us()); }

void UdpLink::finish() {
    is_finishing_ = true;
    pump(runtime::now_us());
}

void UdpLink::on_stream_end() { end("the stream has ended", CloseReason::kStreamEnded); }

bool UdpLink::begin_at_start() {
    if (!next_) next_ = lane_.start();
    return next_.has_value();
}

void UdpLink::pump(int64_t now_us) {
    if (!user_) return;
    const live::MessageRing& ring = lane_.ring();
    if (begin_at_start()) {
        const ::srt::TokenBucket::Limit limit = ::srt::SendPolicy{.stream_rate = ring.rate()}.data_limit();
        for (*next_ = std::max(*next_, ring.begin()); *next_ < ring.end(); ++*next_) {
            if (const int64_t ready_us = bucket_.ready_us(limit); ready_us > now_us) return set(ready_us / 1000 + 1);
            if (port_->is_full()) return set(now_us / 1000 + kFullPauseMs);
            const live::Message& message = ring.at(*next_);
            bucket_.take(now_us, static_cast<int64_t>(message.bytes.size()) + ::srt::kPacketOverhead, limit);
            send(message);
        }
    }
    if (is_finishing_) on_stream_end();
}

// A datagram without room is counted as lost by the socket.
void UdpLink::send(const live::Message& message) {
    const size_t header = target_.rtp ? ::rtp::kFixedHeaderSize : 0, bytes = header + message.bytes.size();
    uint8_t* out = port_->reserve(bytes);
    if (target_.rtp) ++sequence_;
    if (!out) return;
    // RFC 2250, 2: the time of sending, of 90 kHz.
    if (target_.rtp)
        ::rtp::write_header(out, {.payload_type = kMp2t,
                                  .sequence = sequence_,
                                  .timestamp = static_cast<uint32_t>(message.time_us * 9 / 100),
                                  .ssrc = ssrc_});
    std::memcpy(out + header, message.bytes.data(), message.bytes.size());
    port_->commit(bytes, to_);
    sent_bytes_ += bytes;
}

Result<void> UdpLink::on_tick() {
    const runtime::UdpStats before = std::exchange(stats_, port_->stats());
    if (stats_.sent == before.sent && stats_.send_lost > before.send_lost)
        return fail(Code::kSystem, "the system sends no datagram there: no route, or no memory");
    return {};
}

void UdpLink::end(std::string_view why, CloseReason reason) {
    cancel();
    if (PacketSenderUser* user = std::exchange(user_, nullptr)) user->on_sender_end(why, reason);
}

}  // namespace service::forward
