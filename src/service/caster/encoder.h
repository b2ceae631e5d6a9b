#pragma once
// Encoder: the session of a sender that has no protocol of its own: one that sends a transport stream to a UDP port. It
// publishes from the admission by the gate until nothing has come for publish.normal_timeout. What comes while the gate
// is asked is kept, within a limit.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "config/snapshot.h"
#include "live/hub/stream.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "service/caster/cell_input.h"
#include "service/caster/output.h"
#include "service/relay/ts_publisher.h"

namespace service::caster {

class Service;
class UdpPort;

net::SessionType udp_publish_type();

class Encoder final : public net::Session, private relay::TsPublisherOwner, private CellUser {
  public:
    static constexpr size_t kMaxEarly = 1024 * 1024;  // bytes of what comes before it is admitted

    // port: tells it when it is gone (leave_port()).
    Encoder(Service& service, UdpPort& port, std::string output, const base::Endpoint& peer);
    ~Encoder() override;

    // Spawns its coroutine. False: none was available.
    bool start();
    void on_datagram(std::span<const uint8_t> datagram, int64_t now_us);
    // The sender has started again, and sends from another port of its address.
    void continue_from(const base::Endpoint& peer);
    const base::Endpoint& peer() const { return peer_; }
    int64_t silent_us(int64_t now_us) const { return now_us - heard_us_; }
    void leave_port() { port_ = nullptr; }

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
    base::Result<void> serve();
    base::Result<void> begin();
    void tick(int64_t now_us);
    void will_end(std::string_view why, base::CloseReason reason);
    void finish(std::string_view why, base::CloseReason reason);
    net::Visitor visitor(const live::StreamKey& key) const;

    // CellUser
    void on_cells(std::span<const uint8_t> bytes, int64_t now_us) override;
    void on_gap() override;
    // TsPublisherOwner
    void on_revoked(std::string_view why, base::CloseReason reason) override;
    bool peer_alive() const override;
    live::PublisherFacts publisher_facts() const override;

    Service& service_;
    UdpPort* port_;  // null: it is gone
    const std::string output_url_;
    base::Endpoint peer_;
    Output output_;
    CellInput input_;
    std::vector<uint8_t> early_;  // before it is admitted
    int64_t heard_us_ = 0;
    uint64_t received_bytes_ = 0;
    std::string end_reason_;  // not empty: it is to end
    base::Ref<live::Stream> stream_;
    net::Grant grant_;
    std::unique_ptr<relay::TsPublisher> publisher_;  // null: it is not admitted yet
    runtime::Task task_;
};

}  // namespace service::caster
