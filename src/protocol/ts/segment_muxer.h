#pragma once
// SegmentMuxer: frames into the segments of HLS (RFC 8216, 3.2), through a sink of the caller's. Audio frames are put
// together into bigger PES packets. Counters and clock go on over segments. It does not choose where a segment ends:
//
//     muxer.begin_segment();                // the tables come before the next frame
//     muxer.write(frame, sink); ...         // sequence headers too
//     muxer.flush(sink);                    // before the segment's file is closed
//
// What flush() was not called for goes into the next segment.

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/ts/muxer.h"

namespace ts {

class PacketSink {
  public:
    // A whole number of packets, valid during the call only. Must not yield, nor use the muxer.
    virtual void write(std::span<const uint8_t> packets) = 0;

  protected:
    ~PacketSink() = default;
};

struct SegmentMuxerOptions {
    // Audio frames wait for others at most so long, in stream time, before they are written, ms; 0: each frame is a PES
    // packet of its own. Without video at most 90 are used, for the clock is in the audio's packets then.
    int64_t audio_pes_ms = 200;
    int64_t delay_ms = 700;
};

class SegmentMuxer {
  public:
    explicit SegmentMuxer(SegmentMuxerOptions options = {});

    void begin_segment() { muxer_.want_tables(); }
    // All the tracks there are from now on, behind a discontinuity; what is not named is no longer part of the program.
    // Audio that waits is forgotten.
    void set_headers(const Headers& headers) {
        waiting_.clear();
        muxer_.set_headers(headers);
    }
    // In the order of publishing. A sequence header, or a frame that is not carried, writes nothing; an error says that
    // the sequence header cannot be read, and its track is left out.
    base::Result<void> write(const media::Frame& frame, PacketSink& sink);
    // Writes the audio that waits.
    void flush(PacketSink& sink);
    Program program() const { return muxer_.program(); }

  private:
    bool wait(const media::Frame& frame);
    bool due(const media::Frame& frame) const;
    void put_out(size_t prepared, PacketSink& sink);

    SegmentMuxerOptions options_;
    Muxer muxer_;
    std::vector<uint8_t> waiting_;  // audio frames with their headers
    int64_t waiting_dts_ = 0;       // the first one's
};

}  // namespace ts
