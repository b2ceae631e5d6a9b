#pragma once
// FrameReader: converts PES packets (demuxer.h) to the server's frames: access units of H.264 and HEVC,
// length-prefixed, without delimiters, with their parameter sets as a sequence header whenever they change; AAC raw,
// with its AudioSpecificConfig; MP3 and AC-3 frame by frame; Opus without control headers. Frame::track is that of the
// packet's stream. Times are on the transport stream's own clock. Damaged packets are skipped; data that is not valid
// for its codec is counted.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "media/frame.h"
#include "protocol/ts/testing/demuxer.h"

namespace ts {

class FrameReader {
  public:
    // Called in the order of the PES packets; a sequence header precedes the frames it belongs to.
    using Sink = std::function<void(media::Frame)>;
    explicit FrameReader(Sink sink) : sink_(std::move(sink)) {}

    void take(const PesPacket& packet);

    uint64_t damaged() const { return damaged_; }        // PES packets skipped
    uint64_t unreadable() const { return unreadable_; }  // unparsable positions in elementary streams

  private:
    struct Track {
        uint16_t pid = kNullPid;
        media::Codec codec = media::Codec::kNone;
        uint8_t index = 0;                   // Frame::track
        base::Slice header;                  // the last sequence header delivered
        std::vector<uint8_t> vps, sps, pps;  // the last parameter sets seen
        std::vector<uint8_t> rest;           // start of an audio frame that continues in the next packet
    };
    struct Times {
        media::Time dts{}, pts{};
    };

    // The track of the packet's stream; it begins anew when it has another PID or codec than before.
    Track& track_of(const ProgramStream& stream);
    void take_video(const PesPacket& packet, Track& track, Times times);
    void take_audio(const PesPacket& packet, Track& track, Times times);
    void take_opus(const PesPacket& packet, Track& track, Times times);
    void put_out(const Track& track, base::Slice payload, Times times, bool keyframe = false);
    void put_header(Track& track, base::Slice header, Times times);

    Sink sink_;
    std::array<Track, media::kMaxTracks> video_, audio_;  // by index
    uint64_t damaged_ = 0, unreadable_ = 0;
};

}  // namespace ts
