#pragma once
// GbSession: a camera that sends its program stream in RTP (GB/T 28181), by a TCP connection (RFC 4571) or by UDP. It
// publishes the stream that was announced with its SSRC (gb_channels.h), from the admission by the gate until its
// connection ends, or nothing has come for publish.normal_timeout. A connection without a packet of an announced SSRC
// ends in time. Other SSRCs on a connection are dropped.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "config/snapshot.h"
#include "live/hub/stream.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/byte_stream.h"
#include "service/caster/gb_channels.h"
#include "service/caster/gb_input.h"
#include "service/caster/output.h"
#include "service/relay/ts_publisher.h"

namespace service::caster {

class GbUdpPort;
class Service;

net::SessionType gb_publish_type();

class GbSession final : public net::Session,
                        private net::EvictionCandidate,
                        private relay::TsPublisherOwner,
                        private GbUser {
  public:
    static constexpr size_t kMaxEarly = 1024 * 1024;  // bytes of what comes by UDP before it is admitted

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
    void drop_unfinished_input(std::string_view why) override;
    std::string stream_text() const override { return stream_ ? stream_->key().text() : "-"; }
    net::ClientDetails details() const override { return {output_.tc_url, {}, {}, output_.params}; }
    net::Traffic traffic() const override { return {received_bytes_, 0}; }
    void kick(std::string_view why) override;

    uint32_t index = 0;  // in the service's list

  private:
    void run();
    base::Result<void> serve_tcp();
    base::Result<void> serve_udp();
    base::Result<void> read_once(runtime::Deadline deadline);
    base::Result<void> take_frames();
    base::Result<void> take_packet(const rtp::PacketView& packet);
    base::Result<void> begin();
    base::Result<void> count_bytes(size_t bytes);
    net::Visitor visitor(const live::StreamKey& key) const;
    void tick(int64_t now_us);
    void will_end(std::string_view why, base::CloseReason reason);
    void finish(std::string_view why, base::CloseReason reason);

    // EvictionCandidate
    void evict() override;
    // GbUser
    void on_stream_bytes(std::span<const uint8_t> bytes, int64_t now_us) override;
    void on_gap() override;
    void on_unit_end(int64_t now_us) override;
    // TsPublisherOwner
    void on_revoked(std::string_view why, base::CloseReason reason) override;
    bool peer_alive() const override;
    live::PublisherFacts publisher_facts() const override;

    Service& service_;
    const bool is_tcp_;
    const int64_t limit_ms_;
    std::unique_ptr<runtime::ByteStream> socket_;  // null: UDP
    base::Endpoint peer_;                          // of UDP
    GbChannel* channel_ = nullptr;                 // null: no packet has come, or it was released
    uint32_t ssrc_ = 0;
    Output output_;
    std::vector<uint8_t> received_;  // of TCP: an unfinished frame
    uint64_t frames_ = 0;            // of RFC 4571
    std::optional<GbInput> input_;
    std::vector<uint8_t> early_;  // before it is admitted
    int64_t heard_us_ = 0;
    int64_t ticked_us_ = 0;
    uint64_t received_bytes_ = 0;
    std::string end_reason_;  // not empty: it is to end
    base::Ref<live::Stream> stream_;
    net::Grant grant_;
    std::unique_ptr<relay::TsPublisher> publisher_;  // null: it is not admitted yet
    runtime::Task task_;
};

}  // namespace service::caster
