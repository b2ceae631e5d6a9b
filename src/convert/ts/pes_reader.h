#pragma once
// PesReader: the tracks of a sender of PES packets, in a transport stream (ts_reader.h) or a program stream
// (ps_reader.h), as frames of a stream. Video begins with a keyframe whose parameter sets have come. Decoding and
// presentation times are the sender's; where its clock jumps, the frames go on by the local clock (ts_clock.h). A loss
// costs the frames that it hits. Pure: times are passed in.

#include <cstdint>
#include <span>
#include <vector>

#include "convert/ts/ts_clock.h"
#include "media/frame.h"
#include "media/per_track.h"
#include "media/track_set.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/frame_reader.h"

namespace convert {

struct PesReaderCounters {
    uint64_t frames = 0;          // without sequence headers
    uint64_t skipped_frames = 0;  // video before its first keyframe, or without parameter sets
    uint64_t damaged = 0;         // PES packets dropped: a part was lost, or has no time
    uint64_t unreadable = 0;      // positions in elementary streams that are not as their codec has them
    uint64_t jumps = 0;           // of the sender's clock
    ts::DemuxerCounters packets;
};

class PesReader : protected ts::DemuxerSink {
  public:
    virtual ~PesReader() = default;
    PesReader(const PesReader&) = delete;

    // Bytes in order, in pieces of any size. now_us: their arrival, microseconds of any monotonic clock. Appends the
    // frames that are complete.
    void feed(std::span<const uint8_t> bytes, int64_t now_us, std::vector<media::Frame>& out);
    // Bytes before the next ones are missing. Appends the frames that are known to be complete by that.
    void on_gap(int64_t now_us, std::vector<media::Frame>& out);
    // What was fed ends access units; nothing, where that is not so. Appends them.
    void end_unit(int64_t now_us, std::vector<media::Frame>& out);
    // Nothing more comes: appends the frames whose end was not known yet. Feeding may continue afterwards.
    void finish(int64_t now_us, std::vector<media::Frame>& out);

    // The program that is read; without streams: none is known yet.
    virtual const ts::ProgramMap& program() const = 0;
    // Changes with each new program, or version of it.
    uint64_t programs() const { return programs_; }
    // Languages of the program's audio tracks.
    std::vector<media::TrackName> track_names() const;

    PesReaderCounters counters() const;
    // Bytes of allocations for frames in progress.
    size_t memory() const { return demuxer_memory() + reader_.memory(); }
    // Appends a number for each packet in progress, which the stream's next packet has not.
    virtual void list_unfinished(std::vector<uint64_t>& packets) const = 0;
    // Gives up the frames in progress, as after a loss, and releases their memory.
    void drop_unfinished();

  protected:
    PesReader() = default;

  private:
    struct Track {
        media::Codec codec = media::Codec::kNone;
        bool has_header = false;
        bool has_keyframe = false;
    };
    // Of the demuxer.
    virtual void feed_demuxer(std::span<const uint8_t> bytes) = 0;
    virtual void gap_demuxer() = 0;
    virtual void finish_demuxer() = 0;
    virtual void drop_demuxer() = 0;
    // False: it is in the middle of something.
    virtual bool end_unit_of_demuxer() { return false; }
    virtual size_t demuxer_memory() const = 0;
    virtual const ts::DemuxerCounters& demuxer_counters() const = 0;

    template <class Step>
    void collect(int64_t now_us, std::vector<media::Frame>& out, Step&& step);
    void on_pes(ts::PesPacket packet) final { reader_.take(packet); }
    void on_program(const ts::ProgramMap&) final { ++programs_; }
    void take(media::Frame frame);
    bool is_wanted(Track& track, const media::Frame& frame) const;

    ts::FrameReader reader_{[this](media::Frame frame) { take(std::move(frame)); }};
    TsClock clock_;
    media::PerTrack<Track> tracks_;
    uint64_t programs_ = 0;
    uint64_t frames_ = 0, skipped_frames_ = 0;
    // During a call.
    int64_t now_us_ = 0;
    std::vector<media::Frame>* out_ = nullptr;
};

}  // namespace convert
