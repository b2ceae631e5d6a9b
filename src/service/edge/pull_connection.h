#pragma once
// PullConnection: one connection of a pull: it feeds an upstream and publishes what that returns. The stream's name is
// acquired when media come, so that an origin without the stream does not publish. A publisher of this server takes the
// name over at any time.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/close_reason.h"
#include "base/result.h"
#include "convert/flv/body_publisher.h"
#include "live/hub/read_interval.h"
#include "live/hub/stream.h"
#include "service/edge/pull.h"
#include "service/edge/upstream.h"
#include "service/outgoing_session.h"

namespace service::edge {

net::SessionType edge_pull_type();

class PullConnection final : private UpstreamSink, public live::PublicationOwner {
  public:
    PullConnection(Pull& pull, Source source, UpstreamOptions options, const config::Vhost& vhost,
                   base::Ref<live::Stream> stream);
    ~PullConnection();
    PullConnection(const PullConnection&) = delete;

    // Until it ends; no error: nobody wants the stream any more, or a publisher of this server has it. Yields.
    base::Result<void> run();
    const std::string& location() const { return upstream_->location(); }
    // It ends within half a second; the first reason counts.
    void close(std::string_view why, base::CloseReason reason);

    // PublicationOwner
    live::PublisherFacts facts() const override;
    // A publisher of this server is served before the pull.
    bool publisher_alive() const override { return false; }
    bool is_relay() const override { return true; }
    size_t dropped_tracks() const override { return bodies_.dropped_tracks(); }
    const live::InputFaults* input_faults() const override { return &bodies_.faults(); }
    bool read_now() override;
    void publication_revoked(std::string_view why, base::CloseReason reason) override;

  private:
    base::Result<void> serve();
    base::Result<void> read_once(int64_t& ticked_ms);
    base::Result<void> on_body(uint8_t type, const base::Slice& body, uint32_t timestamp) override;
    void on_dropped(const base::Error& error) override { bodies_.note_message(error); }
    base::Result<void> acquire();
    void leave(const base::Result<void>& served);
    int64_t read_interval_ms() const;

    Pull& pull_;
    const Source source_;
    const int64_t merge_ms_;
    const bool min_latency_;
    base::Ref<live::Stream> stream_;
    const std::string id_;
    std::unique_ptr<Upstream> upstream_;
    std::optional<OutgoingSession> session_;  // from the first media on
    convert::BodyPublisher bodies_{"edge pull"};
    live::ReadInterval read_interval_;
    live::Publication publication_;
    std::string end_text_;  // not empty: it is to end
    base::CloseReason end_reason_ = base::CloseReason::kUnknown;
    bool given_up_ = false;  // its end is no failure
    int64_t media_ms_ = 0;   // by the loop's clock: when the last body came
    uint64_t received_bytes_ = 0, sent_bytes_ = 0;
};

}  // namespace service::edge
