#include "service/relay/srt_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/senders/senders.h"

namespace service::relay {

using base::CloseReason;

SrtChannel::SrtChannel(SrtChannelOwner& owner, const SrtPeer& peer, size_t key_bytes)
    : owner_(owner), peer_(peer), key_bytes_(key_bytes), second_us_(runtime::now_us() + kSecondUs) {
    traffic_.received_bytes = ::srt::kBareHandshake;
}

uint8_t* SrtChannel::reserve(size_t bytes) {
    runtime::Senders* threads = thread_ ? runtime::senders() : nullptr;
    lends_ = threads && threads->takes(*thread_);
    return lends_ ? threads->reserve_datagram(*thread_, bytes) : port().reserve(bytes);
}

void SrtChannel::commit(size_t bytes) {
    if (lends_) {
        port().flush();  // what the loop committed goes before
        runtime::senders()->commit_datagram(*thread_, bytes, datagram_target());
    } else {
        port().commit(bytes, peer_.address, 0, peer_.source);
    }
    count_sent(bytes);
}

void SrtChannel::send(std::span<const uint8_t> datagram) {
    if (ended_) return;
    if (uint8_t* out = reserve(datagram.size())) {
        std::copy(datagram.begin(), datagram.end(), out);
        commit(datagram.size());
    }
}

void SrtChannel::on_datagram(std::span<uint8_t> datagram, int64_t now_us) {
    if (ended_) return;
    const runtime::ContextScope context(id());
    traffic_.received_bytes += datagram.size();
    if (connection_->on_datagram(now_us, datagram) == ::srt::Connection::Event::kKeyMessage)
        if (const auto control = ::srt::parse_control(datagram))
            on_key_message(control->subtype, ::srt::body_of(datagram));
    pump(now_us);
}

void SrtChannel::pump(int64_t now_us) {
    if (!ended_) send_data(now_us);
    send_control(now_us);
    check_end();
    if (ended_) return cancel();
    schedule(now_us);
}

void SrtChannel::schedule(int64_t now_us) {
    // Never sooner than the next tick: what is due at once was sent.
    const int64_t due_us = std::min(deadline(), second_us_);
    const int64_t due_ms = std::max(due_us, now_us) / 1000 + 1;
    if (!is_set() || Timer::due_ms() != due_ms) set(due_ms);
}

void SrtChannel::send_control(int64_t now_us) {
    while (uint8_t* out = reserve(::srt::kMaxDatagram)) {
        const size_t bytes = connection_->next_control(now_us, {out, ::srt::kMaxDatagram});
        if (bytes == 0) return;
        commit(bytes);
    }
}

void SrtChannel::check_end() {
    switch (connection_->end()) {
        case ::srt::Connection::End::kNone:
            return;
        case ::srt::Connection::End::kPeerShutdown:
            return end("closed by the peer", CloseReason::kPeerClosed);
        case ::srt::Connection::End::kIdle:
            return end("the peer has sent nothing for peer_idle_timeout", CloseReason::kPeerTimeout);
        case ::srt::Connection::End::kBufferFull:
            return end("a lost packet did not come, and recvbuf is full", CloseReason::kTooSlow);
        case ::srt::Connection::End::kClosed:
            return end("closed", CloseReason::kDone);
    }
}

void SrtChannel::on_due() {
    const runtime::ContextScope context(id());
    const int64_t now_us = runtime::now_us();
    connection_->on_time(now_us);
    if (now_us >= second_us_) {
        second_us_ = now_us + kSecondUs;
        meter_.on_second(*connection_);
        owner_.on_channel_second(now_us);
    }
    pump(now_us);
}

void SrtChannel::end(std::string_view why, CloseReason reason) {
    if (std::exchange(ended_, true)) return;
    owner_.on_channel_end(why, reason);
}

std::string SrtChannel::describe() const {
    const ::srt::Agreement& of = connection_->agreement();
    const int64_t delay_us = connection_->receiver() ? of.receive_latency_us : of.send_latency_us;
    return fmt::format("delay {} ms{}, peer {}.{}.{}", delay_us / 1000, key_bytes_ > 0 ? ", encrypted" : "",
                       of.peer_version >> 16, of.peer_version >> 8 & 255, of.peer_version & 255);
}

void SrtChannel::close() {
    cancel();
    ended_ = true;
    const int64_t now_us = runtime::now_us();
    connection_->close(now_us);
    send_control(now_us);
    on_close();
}

}  // namespace service::relay
