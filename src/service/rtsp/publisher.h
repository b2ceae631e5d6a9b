#pragma once
// Publisher: the stream of a client that publishes (ANNOUNCE, RECORD), or of a camera that is pulled from: its RTP
// packets become frames, which are published. Packets by UDP are put in order first. It reports what it received, asks
// for keyframes, and knows the time limits; the owner calls it and sends what it writes. It never yields.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "convert/rtp/rtp_reader.h"
#include "live/hub/input_faults.h"
#include "live/hub/publisher_limits.h"
#include "live/hub/stream.h"
#include "net/sessions/session_figures.h"
#include "protocol/rtcp/parser.h"
#include "protocol/rtp/jitter_buffer.h"
#include "protocol/rtp/reception_stats.h"
#include "protocol/rtp/unwrap.h"
#include "protocol/sdp/session/track.h"

namespace service::rtsp {

class PublisherOwner {
  public:
    virtual void on_revoked(std::string_view why, base::CloseReason reason) = 0;
    virtual bool peer_alive() const = 0;
    virtual live::PublisherFacts publisher_facts() const = 0;

  protected:
    ~PublisherOwner() = default;
};

class Publisher final : public live::PublicationOwner {
  public:
    // vhost belongs to the snapshot. dropped: further tracks of the description. reorders: packets come by UDP.
    Publisher(PublisherOwner& owner, config::SnapshotPtr snapshot, const config::Vhost& vhost,
              const std::vector<sdp::SessionTrack>& tracks, size_t dropped, bool reorders, int64_t now_us);
    ~Publisher();

    // Acquires the stream's name, or begins to wait for it (publish.standby); kBusy: it is in use.
    base::Result<void> acquire(live::Stream& stream);
    bool waits() const { return publication_.waits(); }
    // track: its index in the constructor's list. What is no RTP, or no RTCP, is dropped and counted.
    void on_rtp(size_t track, std::span<const uint8_t> datagram, int64_t now_us);
    void on_rtcp(size_t track, std::span<const uint8_t> datagram, int64_t now_us);
    // The track's rtptime of RTP-Info in the answer to PLAY.
    void set_rtp_info(size_t track, uint32_t timestamp) { reader_.set_rtp_info(track, timestamp); }
    // To be called every 100 ms or so: gives up packets that did not come.
    void on_tick(int64_t now_us);
    // A receiver report of the track, and a request for a keyframe where one is needed, as one datagram; empty: nothing
    // came yet.
    std::vector<uint8_t> report(size_t track, int64_t now_us);

    size_t tracks() const { return inputs_.size(); }
    // Why it is to be closed; nothing: it goes on. stream: of a client, which kickoff_for_idle is for.
    std::optional<live::PublisherLimits::Passed> passed_limit(int64_t now_us, const live::Stream* stream) const {
        return limits_.passed(now_us, stream, &faults_);
    }

    // stream: that it publishes; null: none.
    net::SessionFigures figures(const live::Stream* stream) const;

    live::PublisherFacts facts() const override { return owner_.publisher_facts(); }
    bool publisher_alive() const override { return owner_.peer_alive(); }
    size_t dropped_tracks() const override { return dropped_; }
    // Frames in progress, and packets that wait for others.
    size_t unfinished_input() const override;
    void list_unfinished(std::vector<uint64_t>& frames) const { reader_.list_unfinished(frames); }
    void drop_unfinished() { reader_.drop_unfinished(); }
    // The unfinished input has grown: the stream counts that.
    void check_memory();
    // The faults as of the last on_tick().
    const live::InputFaults* input_faults() const override { return &faults_; }
    live::StandbyOptions standby() const override { return live::standby_options(*vhost_); }
    void standby_keyframe_wanted() override { wants_keyframe_ = true; }
    void publication_revoked(std::string_view why, base::CloseReason reason) override {
        owner_.on_revoked(why, reason);
    }

  private:
    struct Input {
        media::Kind kind = media::Kind::kVideo;
        uint8_t index = 0;
        int channels = 0;
        uint32_t clock_rate = 90'000;
        uint32_t ssrc = 0;  // of the newest packet
        uint8_t payload_type = 0;
        bool has_received = false;
        rtp::SequenceUnwrapper sequence;
        rtp::JitterBuffer buffer;
        std::optional<uint16_t> last;  // in order
        std::optional<rtp::ReceptionStats> stats;
        convert::RtpReaderCounters recorded;  // in faults_
    };
    void begin(Input& input, const rtp::PacketView& packet);
    void drain(size_t track, int64_t now_us);
    void read(size_t track, const rtp::Header& header, std::span<const uint8_t> payload, bool after_hole,
              int64_t now_us);
    void record_faults();
    void set_channels(media::Frame& frame) const;
    void publish_frames(int64_t now_us);

    PublisherOwner& owner_;
    config::SnapshotPtr snapshot_;
    const config::Vhost* vhost_;
    const size_t dropped_;
    const bool reorders_;
    const uint32_t ssrc_;  // ours, in reports
    live::PublisherLimits limits_;
    uint64_t bad_packets_ = 0, recorded_bad_packets_ = 0;
    live::InputFaults faults_{"RTSP publisher"};
    bool wants_keyframe_ = false;  // to take over
    convert::RtpReader reader_;
    std::vector<Input> inputs_;
    std::vector<media::Frame> frames_;  // kept to reuse its memory
    live::Publication publication_;
};

}  // namespace service::rtsp
