#pragma once
// Muxer: frames in, transport packets out (ISO/IEC 13818-1, 2.4), one program. It writes from the frame's own bytes
// into memory of the caller, in two steps: prepare() says exactly how many bytes a frame will be, write() writes them.
// Tables come before the first frame, where they changed, and as the options say; the clock is in the video track's
// packets, or the audio's when there is no video, and in packets of its own where frames are more than 100 ms apart.
// Continuity counters, the clock and the tables' version go on for as long as the muxer lives, over all segments of a
// stream.
//
// It does not choose where segments end (segment_muxer.h), and it carries no other codecs than carries() names: frames
// of others are no bytes.

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/ts/elementary.h"
#include "protocol/ts/packet.h"
#include "protocol/ts/program.h"

namespace ts {

struct MuxerOptions {
    // How long before its decoding time a frame may be on its way, ms: time stamps are so far ahead of the clock.
    int64_t delay_ms = 700;
    // The tables once more before each keyframe.
    bool tables_at_keyframes = false;
    // The tables once more when the last are so old, ms; 0: never for that reason.
    int64_t tables_every_ms = 0;
};

// A stream's headers at one place. null, kNone: it has none. A codec without sequence header is known by its name.
struct Headers {
    const media::Frame* video = nullptr;
    const media::Frame* audio = nullptr;
    media::Codec audio_codec = media::Codec::kNone;
};

class Muxer {
  public:
    explicit Muxer(MuxerOptions options = {});
    Muxer(const Muxer&) = delete;
    Muxer& operator=(const Muxer&) = delete;

    // One track's sequence header. After an error that track is not carried until a good one comes.
    base::Result<void> set_header(const media::Frame& header);
    // All that is known; what is not named is no longer part of the program.
    void set_headers(const Headers& headers);
    // The tables before the next frame.
    void want_tables() { tables_wanted_ = true; }
    // What the next frame's tables say.
    Program program() const;

    // How many bytes write() will write for this frame; 0 when it is not carried, or is no audio or video frame.
    // May be asked again, also about another frame: the last one asked about is written. The frame, and its payload,
    // must live until it is written.
    size_t prepare(const media::Frame& frame);
    // Several audio frames as one PES packet. bytes: with the headers that put_audio_header() writes, at most kMaxFrame
    // in all; dts: the first frame's, ms.
    size_t prepare_audio(std::span<const uint8_t> bytes, int64_t dts);
    // The header of one audio frame for prepare_audio(); nothing when the frame is not carried.
    std::optional<size_t> put_audio_header(const media::Frame& frame, uint8_t out[AudioElementary::kMaxHeader]);

    // Writes what was prepared. Returns the end.
    uint8_t* write(uint8_t* out);
    // As many of its packets as fit; returns their bytes, 0 when all is written.
    size_t write_some(std::span<uint8_t> out);

    // What tables before the frame written last must say so that a receiver can begin there (put_tables_at()).
    struct Place {
        uint8_t version = 0;
        uint8_t cc = 0;           // one less than that of the next tables
        bool has_tables = false;  // they stand before that frame already
        bool low_rate_mp3 = false;
    };
    Place place() const { return place_; }
    // headers: those in force at the place. Writes kTablesSize bytes; returns the end.
    static uint8_t* put_tables_at(const Headers& headers, const Place& place, uint8_t* out);

  private:
    struct Plan {
        Program program;
        bool tables = false;
        bool had_tables = false;
        uint8_t version = 0;
        int clocks = 0;  // packets that carry the clock alone
        int64_t first_clock = 0, clock_step = 0;
        int64_t dts = 0;  // ms
        bool video = false;
        bool keyframe = false;
        bool has_clock = false;
        bool clock_restarts = false;
        size_t bytes = 0;  // of the PES packet, not written yet
        bool begun = false;
        size_t packets = 0;  // all that are not written yet
    };

    void plan_tables(bool keyframe, int64_t dts);
    void plan_clock(int64_t dts);
    size_t finish_plan(size_t elementary_bytes, int64_t pts, size_t audio_header);
    void put_pes_header(uint8_t* p, size_t elementary_bytes, int64_t pts);
    uint8_t first_flags() const;

    uint8_t* write_tables(uint8_t* out);
    uint8_t* write_clock(uint8_t* out);
    uint8_t* write_first(uint8_t* out);
    uint8_t* write_last(uint8_t* out);
    uint8_t* write_edge(uint8_t* out, bool first, uint8_t flags);
    uint8_t* write_middle(uint8_t* out, size_t count);
    uint8_t* take_payload(uint8_t* out, size_t bytes);
    uint16_t pid() const { return plan_.video ? kVideoPid : kAudioPid; }
    uint8_t& counter() { return plan_.video ? video_cc_ : audio_cc_; }

    MuxerOptions options_;
    VideoElementary video_;
    AudioElementary audio_;

    bool tables_wanted_ = true;
    bool tables_sent_ = false;
    Program sent_program_;
    uint8_t version_ = 0;
    int64_t last_tables_ms_ = 0;
    bool clock_sent_ = false;
    bool clock_begun_ = false;                                // the clock runs, though it may not have been sent
    int64_t last_clock_ms_ = 0;                               // of the one sent last, or of the first frame
    uint8_t tables_cc_ = 15, video_cc_ = 15, audio_cc_ = 15;  // of the last packet written
    Place place_;

    Plan plan_;
    uint8_t head_[19 + AudioElementary::kMaxHeader];  // PES header, audio header
    Pieces pieces_;
    size_t piece_ = 0;   // the one to go on with
    size_t offset_ = 0;  // into it
};

}  // namespace ts
