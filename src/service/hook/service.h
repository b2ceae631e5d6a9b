#pragma once
// http_hooks: queries HTTP servers whether a client may connect, publish or play, in the client's own coroutine, and
// reports ends, recordings, segments and changes of standby publishers to them by an outbox. It is a Guard of the gate,
// a listener of the live events and a watcher of the streams.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/events.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "runtime/loop/log_limit.h"
#include "service/hook/body.h"
#include "service/hook/caller.h"
#include "service/hook/config.h"
#include "service/hook/end_reports.h"
#include "service/hook/outbox.h"
#include "service/hook/outbox_file.h"
#include "service/hook/publishers.h"
#include "service/hook/remembered_answers.h"
#include "service/hook/stats.h"
#include "service/module.h"
#include "service/shared_parts.h"

namespace service::hook {

class Service final : public net::Guard, private live::EventListener, private live::StreamWatcher {
  public:
    // service_id: of this run. Gate, events and registry must outlive it.
    Service(config::SnapshotPtr snapshot, net::Gate& gate, live::Events& events, live::Registry& registry,
            std::string service_id);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting() {}
    bool idle() const { return true; }
    // Must be called after all sources of reports have stopped. Waits some seconds while reports are delivered.
    void stop();
    // Opens the outbox's file if it is needed now. Yields.
    base::Result<Commit> prepare(const config::SnapshotPtr& next);
    using net::Guard::check;
    // Whether prepare() could open the file. Yields.
    base::Result<void> check(const config::SnapshotPtr& next) const;

    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost& vhost) override;
    bool may_yield(net::Action action, const config::Vhost& vhost) const override;
    bool follows(net::Action action, const config::Vhost& vhost) const override;
    void left(const net::Visitor& visitor, const net::Traffic& traffic) override;

    // An alert was raised or cleared: to the vhost of its stream, or to all.
    void report_alert(const Alert& alert);
    const HookStats& stats() const { return stats_; }
    const Caller& caller() const { return caller_; }
    const Outbox& outbox() const { return outbox_; }
    const OutboxFile& file() const { return file_; }
    // The hosts that a stream's hooks have, for Offers::outputs. Does not yield.
    void visit_outputs(const live::StreamKey* only, const OutputVisit& visit) const;

  private:
    void on_recording(const live::RecordingDone& event) override;
    void on_file_ending(const live::FileEnding& event) override { ends_.file_ending(event.publisher); }
    void on_file_ended(const live::FileEnded& event) override { ends_.file_ended(event.publisher); }
    void on_segment(const live::SegmentDone& event) override;
    void stream_published(live::Stream&) override {}
    void standby_changed(live::Stream& stream, const live::StandbyChange& change) override;
    // Publisher and players of its stream, with itself, which may have no session yet, or none any more.
    size_t clients_with(const net::Visitor& visitor) const;
    // One URL of a hook without a valid answer: whether the client is admitted all the same. Null: it is not
    // remembered.
    bool admits_without(Hook hook, const VhostConfig& hooks, const std::string& key, const net::Visitor& visitor);
    void report_end(const EndReports::Report& end);
    // Null: the vhost has no hooks.
    const VhostConfig* hooks_of(const std::string& vhost) const;
    void report(Hook hook, const live::StreamKey& stream, std::string body, const std::string& client_id);

    // The clients that are there, for the run after a crash.
    void record_session(const net::Visitor& visitor, const VhostConfig& hooks);
    uint64_t take_session(const net::Visitor& visitor);  // its number; 0: it is not recorded
    void restore(SavedOutbox left);
    void open_later();
    bool opens_file(const config::Snapshot& next) const;
    void report_start(const SavedOutbox& left);

    config::SnapshotPtr snapshot_;
    net::Gate& gate_;
    live::Events& events_;
    live::Registry& registry_;
    Identity identity_;
    HookStats stats_;
    Caller caller_;
    OutboxFile file_;
    Outbox outbox_;
    Publishers publishers_;
    std::map<live::StreamKey, net::Visitor> cut_publishers_;  // by a crash: their recordings are finished later
    RememberedAnswers remembered_;
    std::unordered_map<std::string, uint64_t> sessions_;  // numbers in the file
    EndReports ends_{[this](const EndReports::Report& end) { report_end(end); }};
    SavedOutbox found_;     // by prepare() in a file that it opened, until a reload is put in force
    runtime::Task opener_;  // while another server has the file
    runtime::LogLimit fail_open_log_;
    bool started_ = false;
};

}  // namespace service::hook
