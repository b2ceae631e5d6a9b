#pragma once
// TsPublisher: the stream of a client that sends an MPEG transport stream, by whatever protocol (SRT, UDP, HTTP), or a
// program stream (GB28181): its bytes become frames, which are published. It knows the time limits and counts what
// cannot be used. The owner has the session, the socket and the admission; it passes on what came, in order, and says
// where something is missing. It never yields.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "convert/ts/ts_reader.h"
#include "live/hub/input_faults.h"
#include "live/hub/publisher_limits.h"
#include "live/hub/stream.h"
#include "service/session_figures.h"

namespace service::relay {

class TsPublisherOwner {
  public:
    // The publication is void; it must end soon.
    virtual void on_revoked(std::string_view why, base::CloseReason reason) = 0;
    virtual bool peer_alive() const = 0;
    // It is there for players, and gives way to a publisher of this server; it takes nobody's place, nor waits for one.
    virtual bool is_relay() const { return false; }
    virtual live::PublisherFacts publisher_facts() const = 0;

  protected:
    ~TsPublisherOwner() = default;
};

class TsPublisher final : public live::PublicationOwner {
  public:
    // name: for the log, a literal: "SRT publisher". vhost belongs to the snapshot. reader: of what is sent.
    TsPublisher(TsPublisherOwner& owner, std::string_view name, config::SnapshotPtr snapshot,
                const config::Vhost& vhost, int64_t now_us,
                std::unique_ptr<convert::PesReader> reader = std::make_unique<convert::TsReader>());

    // Acquires the stream's name, or begins to wait for it (publish.standby); kBusy: it is in use. Frames that come
    // before are dropped.
    base::Result<void> acquire(live::Stream& stream);
    bool waits() const { return publication_.waits(); }

    // Bytes of the transport stream, in order and in pieces of any size; now_us: their arrival, by the loop's clock.
    void feed(std::span<const uint8_t> bytes, int64_t now_us);
    // Bytes before the next ones are missing, and will not come.
    void on_gap();
    // What was fed ends the access units that may be unfinished.
    void end_unit(int64_t now_us);
    // The sender has ended: what was not known to be complete is published.
    void finish(int64_t now_us);
    // To be called about every second, or before input_faults() is read.
    void on_tick() { record_faults(); }
    // Why it is to be closed; nothing: it goes on. stream: of a client, which kickoff_for_idle is for.
    std::optional<live::PublisherLimits::Passed> passed_limit(int64_t now_us, const live::Stream* stream) const {
        return limits_.passed(now_us, stream, &faults_);
    }
    net::SessionFigures figures() const { return figures_of(limits_, publication_.stream(), &faults_); }
    // Frames have come that can be used.
    bool has_media() const { return limits_.has_media(); }
    convert::PesReaderCounters counters() const { return reader_->counters(); }
    const ts::ProgramMap& program() const { return reader_->program(); }

    // For net::Session: frames in progress.
    size_t unfinished_input() const override { return reader_->memory(); }
    void list_unfinished(std::vector<uint64_t>& packets) const { reader_->list_unfinished(packets); }
    void drop_unfinished() { reader_->drop_unfinished(); }
    // The unfinished input has grown: the stream counts that.
    void check_memory();

    live::PublisherFacts facts() const override { return owner_.publisher_facts(); }
    bool publisher_alive() const override { return owner_.peer_alive(); }
    bool is_relay() const override { return owner_.is_relay(); }
    size_t dropped_tracks() const override { return reader_->program().skipped; }
    // The faults as of the last on_tick().
    const live::InputFaults* input_faults() const override { return &faults_; }
    live::StandbyOptions standby() const override {
        return is_relay() ? live::StandbyOptions() : live::standby_options(*vhost_);
    }
    void publication_revoked(std::string_view why, base::CloseReason reason) override {
        owner_.on_revoked(why, reason);
    }

  private:
    void report_latm();
    void describe_tracks();
    void publish_frames(int64_t now_us);
    void record_faults();

    TsPublisherOwner& owner_;
    const config::SnapshotPtr snapshot_;
    const config::Vhost* const vhost_;
    live::PublisherLimits limits_;
    live::InputFaults faults_;
    convert::PesReaderCounters recorded_;  // in faults_
    const std::unique_ptr<convert::PesReader> reader_;
    int64_t fed_us_ = 0;
    uint64_t reported_ = 0;             // PesReader::programs() of what was looked through for LATM
    uint64_t described_ = 0;            // PesReader::programs() of what the stream was told
    std::vector<media::Frame> frames_;  // kept to reuse its memory
    live::Publication publication_;
};

}  // namespace service::relay
