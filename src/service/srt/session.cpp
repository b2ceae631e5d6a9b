#include "service/srt/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "service/srt/config.h"

namespace service::srt {

using base::CloseReason;

Session::Session(SessionHost& host, net::SessionTable& table, net::SessionType type, bool publishes,
                 AdmittedCaller& caller)
    : net::Session(table, caller.id, caller.caller.from.ip.text()),
      host_(host),
      caller_(caller.caller),
      port_(*caller.port),
      source_(caller.source),
      is_encrypted_(caller.keys.has_value()),
      second_us_(runtime::now_us() + kSecondUs),
      answer_(std::move(caller.answer)),
      snapshot_(std::move(caller.snapshot)),
      vhost_(*caller.vhost),
      stream_(std::move(caller.stream)),
      grant_(std::move(caller.grant)),
      tc_url_(std::move(caller.tc_url)),
      params_(std::move(caller.params)) {
    set_type(type);
    enter_stream(stream_->key(), publishes);
    traffic_.received_bytes = ::srt::kBareHandshake;
}

net::ClientDetails Session::details() const { return {.tc_url = tc_url_, .params = params_}; }

void Session::commit(size_t bytes) {
    port_.commit(bytes, caller_.from, 0, source_);
    traffic_.sent_bytes += bytes;
}

void Session::repeat_answer() {
    if (answer_.empty() || ended_) return;
    if (uint8_t* out = reserve(answer_.size())) {
        std::copy(answer_.begin(), answer_.end(), out);
        commit(answer_.size());
    }
}

void Session::on_datagram(std::span<uint8_t> datagram, int64_t now_us) {
    if (ended_) return;
    const runtime::ContextScope context(id());
    traffic_.received_bytes += datagram.size();
    // It knows our id, so it has the answer.
    if (!answer_.empty()) std::vector<uint8_t>().swap(answer_);
    if (connection_->on_datagram(now_us, datagram) == ::srt::Connection::Event::kKeyMessage)
        if (const auto control = ::srt::parse_control(datagram))
            on_key_message(control->subtype, ::srt::body_of(datagram));
    pump(now_us);
}

void Session::pump(int64_t now_us) {
    if (!ended_) send_data(now_us);
    send_control(now_us);
    check_end();
    if (ended_) return cancel();
    // Never sooner than the next tick: what is due at once was sent.
    const int64_t due_us = std::min(deadline(), second_us_);
    const int64_t due_ms = std::max(due_us, now_us) / 1000 + 1;
    if (!is_set() || Timer::due_ms() != due_ms) set(due_ms);
}

void Session::send_control(int64_t now_us) {
    while (uint8_t* out = reserve(::srt::kMaxDatagram)) {
        const size_t bytes = connection_->next_control(now_us, {out, ::srt::kMaxDatagram});
        if (bytes == 0) return;
        commit(bytes);
    }
}

void Session::check_end() {
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

void Session::on_due() {
    const runtime::ContextScope context(id());
    const int64_t now_us = runtime::now_us();
    connection_->on_time(now_us);
    if (now_us >= second_us_) {
        second_us_ = now_us + kSecondUs;
        on_second(now_us);
    }
    pump(now_us);
}

void Session::end(std::string_view why, CloseReason reason) {
    if (std::exchange(ended_, true)) return;
    set_close_reason(reason);
    end_text_ = why;
    host_.end_soon(*this);
}

std::string Session::describe() const {
    const ::srt::Agreement& of = connection_->agreement();
    return fmt::format(
        "delay {} ms{}, peer {}.{}.{}", (publishes(type()) ? of.receive_latency_us : of.send_latency_us) / 1000,
        is_encrypted_ ? ", encrypted" : "", of.peer_version >> 16, of.peer_version >> 8 & 255, of.peer_version & 255);
}

void Session::close() {
    const runtime::ContextScope context(id());
    cancel();
    const int64_t now_us = runtime::now_us();
    connection_->close(now_us);
    send_control(now_us);
    on_close();
    log_end(end_text_, CloseReason::kUnknown);
    grant_.end(traffic_);
}

}  // namespace service::srt
