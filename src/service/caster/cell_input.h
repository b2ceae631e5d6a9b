#pragma once
// CellInput: the bytes of a transport stream from the datagrams of one sender: plain ones, which may have any size and
// cut packets anywhere, or RTP (RFC 2250, 2), whose packets are put in order first. Which of the two it is, the first
// datagram says. Pure: times are passed in.

#include <cstdint>
#include <optional>
#include <span>

#include "protocol/rtp/jitter_buffer.h"
#include "protocol/rtp/unwrap.h"

namespace service::caster {

class CellUser {
  public:
    virtual void on_cells(std::span<const uint8_t> bytes, int64_t now_us) = 0;
    // Bytes before the next ones are missing.
    virtual void on_gap() = 0;

  protected:
    ~CellUser() = default;
};

class CellInput {
  public:
    // Whether a datagram can be the first of a sender: it begins with a packet, as RTP or plain.
    static bool begins_stream(std::span<const uint8_t> datagram);

    // now_us: microseconds of any monotonic clock.
    void push(std::span<const uint8_t> datagram, int64_t now_us, CellUser& user);
    // To be called every 100 ms or so: gives up RTP packets that did not come.
    void on_tick(int64_t now_us, CellUser& user);
    bool uses_rtp() const { return form_ == Form::kRtp; }
    uint64_t bad_packets() const { return bad_packets_; }  // that are no RTP, where the sender uses it
    size_t memory() const { return buffer_.memory(); }

  private:
    enum class Form : uint8_t { kUnknown, kPlain, kRtp };
    void push_rtp(std::span<const uint8_t> datagram, int64_t now_us, CellUser& user);
    void drain(int64_t now_us, CellUser& user);

    Form form_ = Form::kUnknown;
    uint32_t ssrc_ = 0;
    bool has_received_ = false;
    rtp::SequenceUnwrapper sequence_;
    rtp::JitterBuffer buffer_{{.packets = 256, .wait_us = 200'000}};
    uint64_t bad_packets_ = 0;
};

}  // namespace service::caster
