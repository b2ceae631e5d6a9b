#pragma once
// Publisher: what a connection publishes: converts messages to frames for the live stream and
// enforces the time limits. The owner checks deadline() and passed_limit(). It never yields.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"
#include "convert/flv/body_publisher.h"
#include "live/hub/publisher_limits.h"
#include "live/hub/read_interval.h"
#include "live/hub/stream.h"
#include "net/access/gate.h"
#include "protocol/rtmp/message.h"
#include "runtime/loop/deadline.h"
#include "service/session_figures.h"

namespace service::rtmp {

class Connection;

class Publisher final : public live::PublicationOwner {
  public:
    // vhost belongs to the snapshot. now_us: monotonic.
    Publisher(Connection& connection, config::SnapshotPtr snapshot, const config::Vhost& vhost, int64_t now_us);

    // Acquires the stream's name, or begins to wait for it (publish.standby); kBusy: it is in use.
    base::Result<void> acquire(live::Stream& stream);
    bool waits() const { return publication_.waits(); }
    // Keeps the gate's grant, which is released when it ends.
    void keep(net::Grant grant) { grant_ = std::move(grant); }
    void on_media(::rtmp::Message& message);
    void on_dropped(const base::Error& error) { bodies_.record_fault(error); }

    // To be called after each read of so many bytes: records the time of the last message, and logs irregular
    // timestamps.
    void after_read(int64_t now_us, size_t bytes);
    // Its connection's unfinished input has grown: its stream counts that.
    void check_memory();
    // The time at which it counts as silent for too long.
    runtime::Deadline deadline() const { return limits_.silent_at(); }
    std::string timeout_text() const { return limits_.silence_text(&bodies_.faults()); }
    // Why it is to be closed; nothing: it goes on.
    std::optional<live::PublisherLimits::Passed> passed_limit(int64_t now_us) const {
        return limits_.passed(now_us, publication_.stream(), &bodies_.faults());
    }
    net::SessionFigures figures() const { return figures_of(limits_, publication_.stream(), &bodies_.faults()); }
    // How often its connection should be read, so that one read gets several messages; ms, 0: as they arrive.
    int64_t read_interval_ms() const;

    live::PublisherFacts facts() const override;
    bool publisher_alive() const override;
    size_t unfinished_input() const override;
    size_t dropped_tracks() const override { return bodies_.dropped_tracks(); }
    const live::InputFaults* input_faults() const override { return &bodies_.faults(); }
    bool read_now() override;
    live::StandbyOptions standby() const override { return live::standby_options(*vhost_); }
    void publication_activated() override { reset_jumps(); }
    void publication_revoked(std::string_view why, base::CloseReason reason) override;

  private:
    bool merges_reads() const;
    void reset_jumps() { reported_jumps_ = publication_.stream()->counters().timeline_jumps; }

    Connection& connection_;
    bool new_media_ = false;
    config::SnapshotPtr snapshot_;
    const config::Vhost* vhost_;
    live::PublisherLimits limits_;
    int64_t jumps_reported_us_ = 0;
    uint64_t reported_jumps_ = 0;
    live::ReadInterval read_interval_;
    net::Grant grant_;  // released after the publication
    convert::BodyPublisher bodies_{"RTMP publish"};
    live::Publication publication_;
};

}  // namespace service::rtmp
