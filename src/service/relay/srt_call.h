#pragma once
// SrtCall: this server as a caller by SRT: a socket of its own, the handshake, and from then on the datagrams of the
// listener for a channel. All of connect() runs in the caller's coroutine.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "protocol/srt/caller.h"
#include "protocol/srt/url.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/datagram_port.h"
#include "service/relay/srt_channel.h"

namespace service::relay {

// Where is called, and what is asked for there.
struct SrtTarget {
    ::srt::Url url{};  // with the stream id that is sent
    // For logs and lists: without secrets.
    std::string shown{};
};

class SrtCall final : private runtime::DatagramUser {
  public:
    // What a channel is made of.
    struct Connected {
        SrtPeer peer{};
        ::srt::Agreement agreement{};
        std::optional<SrtKeys> keys{};  // nothing: it does not encrypt
    };
    // Must not yield. The channel lives until detach() or the call's end.
    using MakeChannel = std::function<SrtChannel&(const Connected&)>;

    static constexpr int64_t kIdleMs = 10'000;  // of its channels

    SrtCall() = default;
    SrtCall(const SrtCall&) = delete;
    ~SrtCall();  // yields

    // Once. The channel is made when the listener has accepted, so that what comes with its answer is not lost.
    // Refusals by the listener have a code by their meaning: kRefused (passphrase, user, access), kNotFound, kBusy,
    // kLimit, kProtocol; close_reason() is kRefusedAuth where asking often with the same credentials does harm.
    base::Result<void> connect(const SrtTarget& target, MakeChannel make, runtime::Deadline limit);
    // The channel is going away.
    void detach() { channel_ = nullptr; }

    // The listener's code, if it refused.
    std::optional<::srt::Refusal> refusal() const {
        return caller_ ? caller_->refusal() : std::optional<::srt::Refusal>();
    }
    const std::string& peer_ip() const { return ip_; }

  private:
    base::Result<void> make_keys(const ::srt::Url& url, ::srt::CallerSettings& settings);
    base::Result<void> open(const ::srt::Url& url, runtime::Deadline limit);
    base::Result<void> shake_hands(runtime::Deadline limit);
    void on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort& port, int64_t now_us) override;

    std::string ip_;
    base::Endpoint address_;
    MakeChannel make_;
    std::optional<SrtKeys> keys_;
    std::optional<::srt::Caller> caller_;
    SrtChannel* channel_ = nullptr;
    runtime::Event wake_{"the answer of a listener of SRT"};
    std::unique_ptr<runtime::DatagramPort> port_;
};

}  // namespace service::relay
