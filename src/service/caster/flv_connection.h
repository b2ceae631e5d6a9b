#pragma once
// FlvConnection: an encoder that publishes by HTTP: POST or PUT of an FLV without an end to /APP/STREAM.flv, plain or
// in chunks (`caster flv`). One request a connection; it is answered when the body ends, or why it was refused. Its
// tags are those of RTMP, and are treated as an RTMP publisher's. TLS and HTTP/2 are not spoken.
//
// Owned by the Service, from accept to end.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/flv/body_publisher.h"
#include "live/hub/publisher_limits.h"
#include "live/hub/read_interval.h"
#include "protocol/flv/reader.h"
#include "protocol/http/body_reader.h"
#include "protocol/http/message.h"
#include "service/caster/caster_session.h"

namespace service::caster {

net::SessionType flv_publish_type();

class FlvConnection final : public CasterSession, private net::EvictionCandidate, private live::PublicationOwner {
  public:
    // output: of the caster.
    FlvConnection(Service& service, std::unique_ptr<runtime::ByteStream> socket, std::string output);

    // Spawns its coroutine. False: none was available.
    bool start();

    size_t unfinished_input() const override { return tags_.memory(); }
    void list_unfinished_input(std::vector<uint64_t>& parts) const override;
    net::Traffic traffic() const override { return {received_bytes_, sent_bytes_}; }
    net::SessionFigures figures() const override;

  private:
    void run();
    base::Result<void> serve();
    base::Result<void> read_request();
    base::Result<void> begin(const http::Request& request);
    base::Result<void> publish_body();
    base::Result<void> read_once();
    base::Result<void> take_body(std::span<const uint8_t> bytes);
    base::Result<void> take_tags(std::span<const uint8_t> bytes);
    base::Result<void> count_received(size_t bytes);
    base::Result<void> check_limits();
    int64_t read_interval_ms() const;
    void answer(int status, std::string_view text);
    void finish(std::string_view why, base::CloseReason reason);

    // EvictionCandidate
    void evict() override;
    // PublicationOwner
    live::PublisherFacts facts() const override { return facts_of_publisher(); }
    bool publisher_alive() const override { return !socket_->peer_gone(); }
    size_t dropped_tracks() const override { return bodies_.dropped_tracks(); }
    const live::InputFaults* input_faults() const override { return &bodies_.faults(); }
    bool read_now() override;
    live::StandbyOptions standby() const override { return live::standby_options(*vhost_); }
    void publication_revoked(std::string_view why, base::CloseReason reason) override;

    const std::string output_url_;
    std::unique_ptr<runtime::ByteStream> socket_;
    http::Request request_;
    http::BodyReader body_;
    std::vector<uint8_t> early_;  // came with the head
    int refused_status_ = 0;      // of what serve() fails with; 0: the error says it
    flv::Reader tags_;
    uint64_t tags_read_ = 0;
    convert::BodyPublisher bodies_{"FLV publish"};
    config::SnapshotPtr snapshot_;
    const config::Vhost* vhost_ = nullptr;  // belongs to the snapshot
    std::optional<live::PublisherLimits> limits_;
    live::ReadInterval read_interval_;
    uint64_t sent_bytes_ = 0;
    int64_t checked_ms_ = 0;  // the limits, by the loop's clock
    live::Publication publication_;
};

}  // namespace service::caster
