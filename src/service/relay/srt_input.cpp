#include "service/relay/srt_input.h"

#include "runtime/loop/clock.h"

namespace service::relay {

SrtInput::SrtInput(SrtChannelOwner& owner, const SrtPeer& peer, const ::srt::Agreement& agreement,
                   const std::optional<SrtKeys>& keys, ::srt::DataSink& sink, int64_t idle_timeout_ms)
    : SrtChannel(owner, peer, keys ? keys->basis.kek.size : 0) {
    if (keys) keys_.emplace(keys->keys, keys->basis);
    connection_.emplace(::srt::Connection::receiving(agreement, {.idle_timeout_us = 1'000 * idle_timeout_ms}, sink,
                                                     keys_ ? &*keys_ : nullptr));
    schedule(runtime::now_us());
}

void SrtInput::on_key_message(uint16_t subtype, std::span<const uint8_t> contents) {
    if (!keys_ || subtype != ::srt::kKeyRequest) return;
    const ::srt::ReceiverKeys::Answer answer = keys_->on_key_request(contents);
    uint8_t* out = reserve(::srt::kMaxDatagram);
    if (!out) return;  // the peer repeats its message
    if (const size_t bytes = ::srt::write_key_packet({out, ::srt::kMaxDatagram}, target(runtime::now_us()),
                                                     ::srt::kKeyResponse, answer.contents()))
        commit(bytes);
}

}  // namespace service::relay
