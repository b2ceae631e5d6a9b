#pragma once
// GbSession: a camera that sends its program stream in RTP (GB/T 28181), by a TCP connection (RFC 4571) or by UDP. It
// publishes the stream that was announced with its SSRC (gb_channels.h), from the admission by the gate until its
// connection ends, or nothing has come for publish.normal_timeout. A connection without a packet of an announced SSRC
// ends in time. Other SSRCs on a connection are dropped.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/endpoint.h"
#include "runtime/socket/byte_stream.h"
#include "service/caster/caster_session.h"
#include "service/caster/gb_channels.h"
#include "service/caster/gb_input.h"

namespace service::caster {

net::SessionType gb_publish_type();

class GbSession final : public TsSession, private net::EvictionCandidate, private GbUser {
  public:
    // A connection; limit_ms: for its first packet.
    GbSession(Service& service, std::unique_ptr<runtime::ByteStream> socket, int64_t limit_ms);
    // By UDP; it has the channel from now on.
    GbSession(Service& service, GbChannel& channel, const base::Endpoint& peer);
    ~GbSession() override;

    // Spawns its coroutine. False: none was available.
    bool start();

    // By UDP, of its SSRC.
    void on_packet(const rtp::PacketView& packet, int64_t now_us);
    // The camera has started again, and sends from another port of its address.
    void continue_from(const base::Endpoint& peer);
    const base::Endpoint& peer() const { return peer_; }
    bool is_udp() const { return !is_tcp_; }
    int64_t silent_us(int64_t now_us) const { return now_us - heard_us_; }

    size_t unfinished_input() const override;
    void list_unfinished_input(std::vector<uint64_t>& parts) const override;

  private:
    void run();
    base::Result<void> serve_tcp();
    base::Result<void> serve_udp();
    base::Result<void> read_once(runtime::Deadline deadline);
    base::Result<void> take_frames();
    base::Result<void> take_packet(const rtp::PacketView& packet);
    base::Result<void> publish();
    void tick(int64_t now_us);
    bool peer_alive() const override;

    // EvictionCandidate
    void evict() override;
    // GbUser
    void on_stream_bytes(std::span<const uint8_t> bytes, int64_t now_us) override { feed(bytes, now_us); }
    void on_gap() override { skip_gap(); }
    void on_unit_end(int64_t now_us) override;

    const bool is_tcp_;
    const int64_t limit_ms_;
    std::unique_ptr<runtime::ByteStream> socket_;  // null: UDP
    base::Endpoint peer_;                          // of UDP
    GbChannel* channel_ = nullptr;                 // null: no packet has come, or it was released
    uint32_t ssrc_ = 0;
    std::vector<uint8_t> received_;  // of TCP: an unfinished frame
    uint64_t frames_ = 0;            // of RFC 4571
    std::optional<GbInput> input_;
    int64_t heard_us_ = 0;
    int64_t ticked_us_ = 0;
};

}  // namespace service::caster
