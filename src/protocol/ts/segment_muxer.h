#pragma once
// SegmentMuxer: writes frames into the segments of HLS (RFC 8216, 3.2), through a sink of the caller. The frames of an
// audio track are combined into larger PES packets. Counters and clock continue over segments. It does not choose where
// a segment ends:
//
//     muxer.begin_segment();                // the tables come before the next frame
//     muxer.write(frame, sink); ...         // sequence headers too
//     muxer.flush(sink);                    // before the segment's file is closed
//
// Audio that was not flushed goes into the next segment.

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/ts/muxer.h"

namespace ts {

class PacketSink {
  public:
    // A whole number of packets, valid during the call only. The sink must not yield and must not use the muxer.
    virtual void write(std::span<const uint8_t> packets) = 0;

  protected:
    ~PacketSink() = default;
};

struct SegmentMuxerOptions {
    // The longest time, in stream time, that audio frames are held back to be combined; 0: each frame is a PES packet
    // of its own. Without video at most 90 ms are used, because the PCR is in the audio packets then.
    media::Time audio_pes = std::chrono::milliseconds(200);
    media::Time delay = std::chrono::milliseconds(700);
};

class SegmentMuxer {
  public:
    explicit SegmentMuxer(SegmentMuxerOptions options = {});

    void begin_segment() { muxer_.want_tables(); }
    // Sets all tracks after a discontinuity (Muxer::set_tracks()). Audio held back is discarded.
    void set_tracks(std::span<const media::Track> tracks);
    // Call it in the order of publishing. A sequence header, or a frame of an unsupported codec, writes nothing; an
    // error means that the sequence header is invalid, and its track is left out.
    base::Result<void> write(const media::Frame& frame, PacketSink& sink);
    // Writes the audio held back.
    void flush(PacketSink& sink);
    const Program& program() const { return muxer_.program(); }

  private:
    // The frames of an audio track that are held back, with their headers.
    struct Waiting {
        std::vector<uint8_t> bytes;
        media::Time dts{};  // of the first
    };

    bool wait(const media::Frame& frame);
    bool due(uint8_t track, const media::Frame& frame) const;
    void flush_track(uint8_t track, PacketSink& sink);
    void put_out(size_t prepared, PacketSink& sink);

    SegmentMuxerOptions options_;
    Muxer muxer_;
    std::vector<Waiting> waiting_;  // by track, at most kMaxTracks
};

}  // namespace ts
