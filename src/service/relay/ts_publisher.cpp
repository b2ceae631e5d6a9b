#include "service/relay/ts_publisher.h"

#include <utility>

#include "protocol/ts/program.h"

namespace service::relay {

TsPublisher::TsPublisher(TsPublisherOwner& owner, std::string_view name, config::SnapshotPtr snapshot,
                         const config::Vhost& vhost, int64_t now_us, std::unique_ptr<convert::PesReader> reader)
    : owner_(owner),
      snapshot_(std::move(snapshot)),
      vhost_(&vhost),
      limits_(vhost.publish, now_us),
      faults_(name),
      reader_(std::move(reader)),
      fed_us_(now_us) {}

base::Result<void> TsPublisher::acquire(live::Stream& stream) {
    publication_ = TRY(stream.acquire(*this, vhost_->publish.takeover && !is_relay()));
    described_ = 0;
    describe_tracks();
    return {};
}

void TsPublisher::feed(std::span<const uint8_t> bytes, int64_t now_us) {
    limits_.on_input(now_us);
    fed_us_ = now_us;
    reader_->feed(bytes, now_us, frames_);
    publish_frames(now_us);
}

void TsPublisher::on_gap() {
    reader_->on_gap(fed_us_, frames_);
    publish_frames(fed_us_);
}

void TsPublisher::end_unit(int64_t now_us) {
    reader_->end_unit(now_us, frames_);
    publish_frames(now_us);
}

void TsPublisher::finish(int64_t now_us) {
    reader_->finish(now_us, frames_);
    publish_frames(now_us);
}

// AAC in the other form: encoders of DVB have it as a setting, so that a line helps more than silence.
void TsPublisher::report_latm() {
    if (std::exchange(reported_, reader_->programs()) == reader_->programs()) return;
    for (const ts::ElementaryStream& stream : reader_->program().streams)
        if (stream.stream_type == ts::kLatmAac && stream.codec == media::Codec::kNone)
            faults_.add(live::InputFaults::kCodec, "AAC as LATM (stream type 0x11) is not read, ADTS (0x0f) is");
}

void TsPublisher::describe_tracks() {
    if (!publication_ || std::exchange(described_, reader_->programs()) == reader_->programs()) return;
    publication_.describe_tracks(reader_->track_names());
}

void TsPublisher::publish_frames(int64_t now_us) {
    report_latm();
    describe_tracks();
    if (frames_.empty()) return;
    limits_.on_media(now_us);
    // One may end the publication.
    for (media::Frame& frame : frames_) publication_.publish(std::move(frame));
    frames_.clear();
}

// Counted by what reads the packets; recorded at intervals.
void TsPublisher::record_faults() {
    using Faults = live::InputFaults;
    const convert::PesReaderCounters now = reader_->counters();
    const auto record = [this](Faults::Kind kind, uint64_t count, uint64_t& recorded, std::string_view why) {
        // One that sends nothing else does not cost more than this.
        constexpr uint64_t kMaxAtOnce = 1'000;
        for (uint64_t n = 0; n < kMaxAtOnce && recorded < count; ++n, ++recorded) faults_.add(kind, why);
        recorded = count;
    };
    const ts::DemuxerCounters& packets = now.packets;
    ts::DemuxerCounters& before = recorded_.packets;
    record(Faults::kMessage, packets.bad_tables, before.bad_tables, "a table that is malformed");
    record(Faults::kMessage, packets.flagged, before.flagged, "a packet that is scrambled, or marked as damaged");
    record(Faults::kVideo, packets.too_long, before.too_long, "a PES packet that is too long");
    record(Faults::kVideo, packets.bad_pes, before.bad_pes, "a PES packet with a malformed header");
    record(Faults::kVideo, now.damaged, recorded_.damaged, "a PES packet of which packets were lost");
    record(Faults::kVideo, now.unreadable, recorded_.unreadable, "data that is not as its codec has it");
}

void TsPublisher::check_memory() {
    if (live::Stream* stream = publication_.stream()) stream->check_memory();
}

}  // namespace service::relay
