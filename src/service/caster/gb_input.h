#pragma once
// GbInput: the bytes of a program stream from the RTP packets of one camera (GB/T 28181, annex C). By UDP they are put
// in order first; by TCP they are in order, and what is missing was not sent. It also finds the ends of access units,
// which the program stream shows only by the beginning of the next one: a packet with another timestamp begins with a
// pack, or the marker is set, where the camera has shown that it sets it there and nowhere else. Pure: times are passed
// in.

#include <cstdint>
#include <optional>
#include <span>

#include "protocol/rtp/jitter_buffer.h"
#include "protocol/rtp/packet.h"
#include "protocol/rtp/unwrap.h"

namespace service::caster {

class GbUser {
  public:
    virtual void on_stream_bytes(std::span<const uint8_t> bytes, int64_t now_us) = 0;
    // Bytes before the next ones are missing.
    virtual void on_gap() = 0;
    // What came is all of an access unit.
    virtual void on_unit_end(int64_t now_us) = 0;

  protected:
    ~GbUser() = default;
};

class GbInput {
  public:
    // reorders: packets may come in another order, or not at all.
    explicit GbInput(bool reorders) : reorders_(reorders) {}

    // Whether a packet can be the first of a camera: it begins with a pack.
    static bool begins_stream(std::span<const uint8_t> payload);
    // Of RTCP that is mixed with RTP.
    static bool is_rtcp(std::span<const uint8_t> packet);

    // now_us: microseconds of any monotonic clock.
    void push(const rtp::PacketView& packet, int64_t now_us, GbUser& user);
    // To be called every 100 ms or so: gives up packets that did not come.
    void on_tick(int64_t now_us, GbUser& user);
    size_t memory() const { return buffer_.memory(); }

  private:
    // How many access units in a row have had the marker in their last packet only.
    static constexpr unsigned kTrusted = 8;
    void drain(int64_t now_us, GbUser& user);
    void take(uint32_t timestamp, bool marker, std::span<const uint8_t> payload, int64_t now_us, GbUser& user);

    const bool reorders_;
    rtp::SequenceUnwrapper sequence_;
    std::optional<int64_t> last_sequence_;  // of TCP
    rtp::JitterBuffer buffer_{{.packets = 256, .wait_us = 200'000}};
    std::optional<uint32_t> timestamp_;
    bool is_marked_ = false;  // a packet with this timestamp was
    unsigned trust_ = 0;
};

}  // namespace service::caster
