#include "service/rtsp/publisher.h"

#include <algorithm>
#include <utility>

#include "protocol/rtcp/writer.h"
#include "protocol/rtp/packet.h"
#include "runtime/loop/random.h"
#include "service/session_figures.h"

namespace service::rtsp {

namespace {

constexpr size_t kMaxReportBytes = 256;
// Sequence numbers that are further apart are of another source, as after a restart of the sender.
constexpr int64_t kMaxSequenceStep = 3'000;

class SenderReports final : public rtcp::Visitor {
  public:
    std::optional<rtcp::SenderReport> found;

  private:
    void on_sender_report(const rtcp::SenderReport& report) override { found = report; }
};

}  // namespace

Publisher::Publisher(PublisherOwner& owner, config::SnapshotPtr snapshot, const config::Vhost& vhost,
                     const std::vector<sdp::SessionTrack>& tracks, size_t dropped, bool reorders, int64_t now_us)
    : owner_(owner),
      snapshot_(std::move(snapshot)),
      vhost_(&vhost),
      dropped_(dropped),
      reorders_(reorders),
      ssrc_(runtime::secret_u32()),
      limits_(vhost.publish, now_us),
      reader_(tracks) {
    for (const sdp::SessionTrack& track : tracks) {
        Input& input = inputs_.emplace_back();
        input.kind = track.kind;
        input.index = track.index;
        input.channels = track.format.channels;
        input.clock_rate = track.format.clock_rate;
    }
}

Publisher::~Publisher() = default;

base::Result<void> Publisher::acquire(live::Stream& stream) {
    publication_ = TRY(stream.acquire(*this, vhost_->publish.takeover));
    return {};
}

// The first packet of a source: numbers and statistics begin again.
void Publisher::begin(Input& input, const rtp::PacketView& packet) {
    input.has_received = true;
    input.ssrc = packet.ssrc();
    input.sequence.reset();
    input.buffer.reset();
    input.last.reset();
    input.stats.emplace(packet.ssrc(), input.clock_rate);
}

void Publisher::on_rtp(size_t track, std::span<const uint8_t> datagram, int64_t now_us) {
    const auto packet = rtp::PacketView::parse(datagram);
    if (!packet) {
        ++bad_packets_;
        return;
    }
    Input& input = inputs_[track];
    if (!input.has_received || packet->ssrc() != input.ssrc) begin(input, *packet);
    limits_.on_input(now_us);
    input.payload_type = packet->payload_type();
    input.stats->on_packet(packet->sequence(), packet->timestamp(), now_us);
    if (!reorders_) {
        const bool hole = input.last && static_cast<uint16_t>(packet->sequence() - *input.last) != 1;
        input.last = packet->sequence();
        read(track, packet->header(), packet->payload(), hole, now_us);
        return publish_frames(now_us);
    }
    if (const auto newest = input.sequence.newest();
        newest && std::abs(input.sequence.peek(packet->sequence()) - *newest) > kMaxSequenceStep) {
        input.sequence.reset();
        input.buffer.reset();
    }
    // Room below the first number, for packets that were overtaken at the start.
    constexpr int64_t kRoom = 1 << 17;
    const auto sequence = static_cast<uint64_t>(input.sequence.unwrap(packet->sequence()) + kRoom);
    input.buffer.push({sequence, packet->timestamp(), packet->marker(), now_us, base::Slice::copy(packet->payload())});
    drain(track, now_us);
}

void Publisher::drain(size_t track, int64_t now_us) {
    Input& input = inputs_[track];
    while (auto next = input.buffer.pop(now_us)) {
        rtp::Header header;
        header.marker = next->packet.marker;
        header.payload_type = input.payload_type;
        header.sequence = static_cast<uint16_t>(next->packet.sequence);
        header.timestamp = next->packet.timestamp;
        header.ssrc = input.ssrc;
        read(track, header, next->packet.payload, next->after_hole, next->packet.arrival_us);
    }
    publish_frames(now_us);
}

void Publisher::read(size_t track, const rtp::Header& header, std::span<const uint8_t> payload, bool after_hole,
                     int64_t now_us) {
    reader_.push(track, header, payload, after_hole, now_us, frames_);
}

// G.711 says nothing of its channels, and RTMP's players are told 2 unless the frame says 1.
void Publisher::set_channels(media::Frame& frame) const {
    const bool alaw = frame.codec == media::Codec::kPcmAlaw;
    if (!alaw && frame.codec != media::Codec::kPcmUlaw) return;
    for (const Input& input : inputs_)
        if (input.kind == media::Kind::kAudio && input.index == frame.track)
            frame.publisher_format = static_cast<uint8_t>((alaw ? 0x70 : 0x80) | 2 | (input.channels == 2 ? 1 : 0));
}

void Publisher::publish_frames(int64_t now_us) {
    if (!frames_.empty()) limits_.on_media(now_us);
    // One may end the publication.
    for (media::Frame& frame : frames_) {
        set_channels(frame);
        publication_.publish(std::move(frame));
    }
    frames_.clear();
}

void Publisher::on_rtcp(size_t track, std::span<const uint8_t> datagram, int64_t now_us) {
    SenderReports reports;
    if (!rtcp::parse(datagram, reports).framed) ++bad_packets_;
    if (!reports.found) return;
    Input& input = inputs_[track];
    reader_.on_sender_report(track, reports.found->ntp, reports.found->rtp_timestamp);
    if (input.stats) input.stats->on_sender_report(reports.found->ntp, now_us);
}

// Counted by what reads the packets; recorded at intervals.
void Publisher::record_faults() {
    using Faults = live::InputFaults;
    const auto record = [this](Faults::Kind kind, uint64_t now, uint64_t& recorded, std::string_view why) {
        for (; recorded < now; ++recorded) faults_.add(kind, why);
    };
    record(Faults::kMessage, bad_packets_, recorded_bad_packets_, "neither RTP nor RTCP");
    for (size_t track = 0; track < inputs_.size(); ++track) {
        Input& input = inputs_[track];
        const auto kind = input.kind == media::Kind::kVideo ? Faults::kVideo : Faults::kAudio;
        const convert::RtpReaderCounters now = reader_.counters(track);
        const std::string_view defect = now.payloads.defect;
        auto& recorded = input.recorded;
        record(kind, now.payloads.malformed, recorded.payloads.malformed,
               defect.empty() ? "a payload that is not as its format has it" : defect);
        record(kind, now.payloads.damaged, recorded.payloads.damaged,
               "a frame of which packets were lost or malformed");
        record(kind, now.payloads.undecodable, recorded.payloads.undecodable, "a frame without parameter sets");
        record(kind, now.other_packets, recorded.other_packets, "a packet of a payload type that is not described");
    }
}

void Publisher::on_tick(int64_t now_us) {
    record_faults();
    if (!reorders_) return;
    for (size_t track = 0; track < inputs_.size(); ++track) drain(track, now_us);
}

std::vector<uint8_t> Publisher::report(size_t track, int64_t now_us) {
    Input& input = inputs_[track];
    if (!input.stats) return {};
    std::vector<uint8_t> bytes(kMaxReportBytes);
    rtcp::Writer writer(bytes);
    const auto block = input.stats->report(now_us);
    writer.receiver_report(ssrc_, block ? std::span(&*block, 1) : std::span<const rtcp::ReportBlock>());
    writer.cname(ssrc_, "server");
    if (input.kind == media::Kind::kVideo &&
        (reader_.waits_for_keyframe() || (publication_.waits() && std::exchange(wants_keyframe_, false))))
        writer.pli(ssrc_, input.ssrc);
    bytes.resize(writer.size());
    return bytes;
}

size_t Publisher::unfinished_input() const {
    size_t bytes = reader_.memory();
    for (const Input& input : inputs_) bytes += input.buffer.memory();
    return bytes;
}

void Publisher::check_memory() {
    if (live::Stream* stream = publication_.stream()) stream->check_memory();
}

net::SessionFigures Publisher::figures(const live::Stream* stream) const {
    net::SessionFigures figures = figures_of(limits_, stream, &faults_);
    for (const Input& input : inputs_)
        if (input.stats) figures.lost += static_cast<uint64_t>(std::max<int64_t>(0, input.stats->lost()));
    return figures;
}

}  // namespace service::rtsp
