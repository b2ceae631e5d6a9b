#pragma once
// TsReader: the tracks of an MPEG transport stream (SRT, UDP) as frames of a stream. Video begins with a keyframe whose
// parameter sets have come. Decoding and presentation times are the sender's; where its clock jumps, the frames go on
// by the local clock (ts_clock.h). A loss costs the frames that it hits. Pure: times are passed in.

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

struct TsReaderCounters {
    uint64_t frames = 0;          // without sequence headers
    uint64_t skipped_frames = 0;  // video before its first keyframe, or without parameter sets
    uint64_t damaged = 0;         // PES packets dropped: a part was lost, or has no time
    uint64_t unreadable = 0;      // positions in elementary streams that are not as their codec has them
    uint64_t jumps = 0;           // of the sender's clock
    ts::DemuxerCounters packets;
};

class TsReader final : private ts::DemuxerSink {
  public:
    TsReader();
    TsReader(const TsReader&) = delete;

    // Bytes in order, in pieces of any size. now_us: their arrival, microseconds of any monotonic clock. Appends the
    // frames that are complete.
    void feed(std::span<const uint8_t> bytes, int64_t now_us, std::vector<media::Frame>& out);
    // Bytes before the next ones are missing.
    void on_gap() { demuxer_.on_gap(); }
    // Nothing more comes: appends the frames whose end was not known yet. Feeding may continue afterwards.
    void finish(int64_t now_us, std::vector<media::Frame>& out);

    // The program that is read; without streams: none is known yet.
    const ts::ProgramMap& program() const { return demuxer_.program(); }
    // Changes with each new program, or version of it.
    uint64_t programs() const { return programs_; }
    // Languages of the program's audio tracks.
    std::vector<media::TrackName> track_names() const;

    TsReaderCounters counters() const;
    // Bytes of allocations for frames in progress.
    size_t memory() const { return demuxer_.memory() + reader_.memory(); }
    // Appends a number for each packet in progress, which the stream's next packet has not.
    void list_unfinished(std::vector<uint64_t>& packets) const { demuxer_.list_unfinished(packets); }
    // Gives up the frames in progress, as after a loss, and releases their memory.
    void drop_unfinished();

  private:
    struct Track {
        media::Codec codec = media::Codec::kNone;
        bool has_header = false;
        bool has_keyframe = false;
    };
    void on_pes(ts::PesPacket packet) override { reader_.take(packet); }
    void on_program(const ts::ProgramMap&) override { ++programs_; }
    void take(media::Frame frame);
    bool is_wanted(Track& track, const media::Frame& frame) const;

    ts::FrameReader reader_{[this](media::Frame frame) { take(std::move(frame)); }};
    ts::Demuxer demuxer_{*this};
    TsClock clock_;
    media::PerTrack<Track> tracks_;
    uint64_t programs_ = 0;
    uint64_t frames_ = 0, skipped_frames_ = 0;
    // During a call.
    int64_t now_us_ = 0;
    std::vector<media::Frame>* out_ = nullptr;
};

}  // namespace convert
