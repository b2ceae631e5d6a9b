#pragma once
// The caller's side of the handshake (draft-sharabayko-srt-01, 4.3.1): INDUCTION and CONCLUSION, each repeated every
// 250 ms until it is answered. Without IO: poll() says what to send, on_datagram() takes what the listener sent. The
// stream id and the keys go with the CONCLUSION.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/srt/agreement.h"
#include "protocol/srt/handshake.h"
#include "protocol/srt/key_material.h"

namespace srt {

struct CallerSettings {
    uint32_t own_id = 0;            // random, not 0, bit 30 clear
    uint32_t initial_sequence = 0;  // random, 31 bits
    uint32_t mtu = 1500;
    uint32_t window = 8192;  // packets of our receive buffer
    uint16_t receive_latency_ms = 120;
    uint16_t peer_latency_ms = 120;  // least delay of what we send
    bool drops_too_late = true;
    std::string stream_id;             // at most kMaxStreamId bytes; may be empty
    std::vector<uint8_t> key_message;  // write_key_message(); empty: no encryption
    int64_t timeout_us = 3'000'000;
};

class Caller {
  public:
    enum class State : uint8_t { kInduction, kConclusion, kConnected, kFailed };

    Caller(CallerSettings settings, int64_t now_us);

    State state() const { return state_; }
    // What has to be sent now; empty: nothing. Valid until the next call. Call it again until it is empty.
    std::span<const uint8_t> poll(int64_t now_us);
    // When poll() has something to do; INT64_MAX at the end.
    int64_t deadline_us() const;
    // A datagram from the listener's address. False: it is nothing for the present state.
    bool on_datagram(int64_t now_us, std::span<const uint8_t> datagram);

    // When it is connected.
    const Agreement& agreement() const { return agreement_; }
    // When it has failed: kTimeout, kRefused, or kProtocol if the answer is malformed.
    base::Error error() const;
    // The listener's code, if it refused.
    std::optional<Refusal> refusal() const { return refusal_; }

  private:
    static constexpr int64_t kRepeatUs = 250'000;

    void fail(base::Code code, std::string text);
    void write_induction();
    void write_conclusion();
    void on_induction(int64_t now_us, const Handshake& answer);
    void on_conclusion(int64_t now_us, const HandshakePacket& packet);
    // Why a KMRSP, or that there is none, is no agreement.
    std::optional<std::string> key_error(std::optional<std::span<const uint8_t>> response) const;
    void agree(int64_t now_us, const HandshakePacket& packet, const Capabilities& listener);

    CallerSettings settings_;
    State state_ = State::kInduction;
    int64_t start_us_;
    int64_t next_us_;
    uint32_t cookie_ = 0;
    std::vector<uint8_t> datagram_;
    Agreement agreement_;
    base::Code code_ = base::Code::kOther;
    std::string error_;
    std::optional<Refusal> refusal_;
};

}  // namespace srt
