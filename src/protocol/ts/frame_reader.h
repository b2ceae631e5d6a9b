#pragma once
// FrameReader: converts PES packets (pes.h) to the server's frames: access units of H.264 and HEVC, length-prefixed,
// without delimiters and filler, with their parameter sets as a sequence header whenever they change; temporal units of
// AV1; AAC raw, with its AudioSpecificConfig; MPEG audio and AC-3 frame by frame; Opus without control headers; G.711
// in frames of at most 40 ms. Frame::track is that of the packet's stream. Times are on the sender's own clock. A
// packet of video is one access unit: only where it is as long as packets can be it may be continued by packets without
// a time. Damaged packets are skipped; data that is not valid for its codec is counted.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "media/frame.h"
#include "media/recovery_point.h"
#include "protocol/ts/audio_splitter.h"
#include "protocol/ts/packet.h"
#include "protocol/ts/parameter_sets.h"
#include "protocol/ts/pes.h"

namespace ts {

class FrameReader {
  public:
    static constexpr size_t kMaxUnit = 8 * 1024 * 1024;  // bytes of an access unit of several packets
    // Called in the order of the PES packets; a sequence header precedes the frames it belongs to.
    using Sink = std::function<void(media::Frame)>;
    explicit FrameReader(Sink sink) : sink_(std::move(sink)) {}

    void take(const PesPacket& packet);
    // Delivers access units of which it is not known whether they continue.
    void finish();
    // Gives them up, and begun frames of audio.
    void drop_unfinished();

    uint64_t damaged() const { return damaged_; }  // PES packets skipped
    uint64_t unreadable() const;                   // unparsable positions in elementary streams
    // Bytes of allocations for unfinished access units and frames.
    size_t memory() const;

  private:
    struct Times {
        media::Time dts{}, pts{};
    };
    // An access unit whose next packets may continue it.
    struct Held {
        bool open = false;
        bool random_access = false;
        Times times{};
        base::SliceBuilder bytes;
    };
    struct Track {
        uint16_t pid = kNullPid;
        media::Codec codec = media::Codec::kNone;
        uint8_t index = 0;   // Frame::track
        base::Slice header;  // the last sequence header delivered
        ParameterSets sets;
        media::RecoveryPoints recovery_points;
        Held held;
        AudioSplitter audio;
    };

    // The track of the packet's stream; it begins anew when it has another PID or codec than before.
    Track& track_of(const ElementaryStream& stream);
    void take_video(const PesPacket& packet, Track& track);
    void continue_unit(const PesPacket& packet, Track& track);
    void finish_held(Track& track);
    void take_unit(Track& track, const base::Slice& bytes, Times times, bool random_access);
    void take_nal_units(Track& track, const base::Slice& bytes, Times times, bool random_access);
    bool append_units(Track& track, const base::Slice& bytes, base::SliceBuilder& payload);
    void take_av1(Track& track, const base::Slice& bytes, Times times);
    void take_audio(const PesPacket& packet, Track& track);
    void take_opus(const PesPacket& packet, Track& track, Times times);
    void put_out(const Track& track, base::Slice payload, Times times, bool keyframe = false);
    void put_header(Track& track, base::Slice header, Times times);

    Sink sink_;
    std::array<Track, media::kMaxTracks> video_, audio_;  // by index
    std::vector<AudioFrame> split_;                       // kept to reuse its memory
    uint64_t damaged_ = 0, unreadable_ = 0;
};

}  // namespace ts
