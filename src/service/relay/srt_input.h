#pragma once
// SrtInput: a connection by SRT whose peer sends media: a publisher that has called, or a server that was called. What
// it delivers, in order, goes to a sink.

#include <cstdint>
#include <optional>

#include "protocol/srt/receiver.h"
#include "service/relay/srt_channel.h"

namespace service::relay {

class SrtInput final : public SrtChannel {
  public:
    // idle_timeout_ms: it ends when the peer sends nothing for so long. The references must outlive it.
    SrtInput(SrtChannelOwner& owner, const SrtPeer& peer, const ::srt::Agreement& agreement,
             const std::optional<SrtKeys>& keys, ::srt::DataSink& sink, int64_t idle_timeout_ms);

    const ::srt::Receiver& receiver() const { return *connection_->receiver(); }

  private:
    void send_data(int64_t) override {}
    int64_t deadline() const override { return connection_->deadline(); }
    void on_key_message(uint16_t subtype, std::span<const uint8_t> contents) override;

    std::optional<::srt::ReceiverKeys> keys_;  // nothing: it does not encrypt
};

}  // namespace service::relay
