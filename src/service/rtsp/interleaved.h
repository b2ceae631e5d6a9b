#pragma once
// InterleavedEncoder: frames as RTP packets in interleaved frames (RFC 2326, 10.12), with sender reports: one when a
// player begins, for each of its tracks, and one every kReportInterval. Where players are sent what is new at
// intervals, a packet has the AAC frames of up to a third of one, beside video. A track whose codec is no longer that
// of the key is not sent: its players were told another one.

#include <array>
#include <optional>
#include <vector>

#include "base/slice.h"
#include "convert/rtp/aac_joiner.h"
#include "convert/rtp/rtp_writer.h"
#include "live/fanout/wire_encoder.h"
#include "media/time.h"
#include "service/rtsp/tracks.h"

namespace service::rtsp {

// The one format; its protocol is "rtsp".
const live::WireFormat* interleaved_format();

class InterleavedEncoder final : public live::WireEncoder {
  public:
    explicit InterleavedEncoder(const PlayKey& key);

    void encode_prefix(const media::TrackSet& tracks, media::Time start_dts, bool first,
                       base::SliceBuilder& out) override;
    // The sequence numbers of the first packets from here on: of the first track in the upper half, of the second in
    // the lower one. For RTP-Info (sequences_at()).
    uint32_t save_start_state() const override { return start_sequences_; }
    void set_tracks(const media::TrackSet& tracks) override;
    void set_interval(int64_t ms) override { interval_ = media::from_ms(ms); }
    size_t encoded_size(const media::Frame& frame) override;
    void encode(const media::Frame& frame, uint8_t* out) override;
    bool carries(media::Kind kind) const override;
    uint8_t first_track(media::Kind kind) const override;

  private:
    static constexpr media::Time kReportInterval = media::from_ms(5'000);

    struct Slot {
        PlayTrack track;
        uint32_t ssrc = 0;
        uint32_t revision = 0;  // of media::Track, of the writer's header
        std::optional<convert::RtpWriter> writer{};
        std::optional<convert::AacJoiner> joiner{};
        media::Time reported = media::kNoTime;
    };
    Slot* slot_of(const media::Frame& frame);
    void write(Slot& slot, const media::Frame& frame);
    bool write_joined(Slot& slot, const media::Frame& frame);
    void make_writer(Slot& slot, const media::TrackSet& tracks, const media::Track& track);
    void make_joiner(Slot& slot, const media::Track& track) const;
    uint32_t next_sequences() const;
    void append_report(const Slot& slot, media::Time time, base::SliceBuilder& out);

    std::array<Slot, kMaxPlayTracks> slots_;
    size_t size_;
    uint32_t start_sequences_ = 0;
    int64_t clock_offset_us_ = 0;  // of the wall clock from the stream's times
    bool has_clock_ = false;
    media::Time newest_{};
    media::Time interval_{};
    // Buffers of the frame in progress; members to reuse their memory.
    base::SliceBuilder buffer_;
    std::vector<convert::WrittenPacket> packets_;
    std::vector<convert::JoinedAac> joined_;
};

// The sequence number of a track's first packet from a start on; nothing: it is not kept, for the third track and
// further ones.
std::optional<uint16_t> sequence_at(uint32_t start_state, size_t track);

}  // namespace service::rtsp
