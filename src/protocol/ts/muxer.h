#pragma once
// Muxer: frames in, transport packets out (ISO/IEC 13818-1, 2.4), one program. It writes from the frame's own bytes
// into memory of the caller, in two steps: prepare() returns the exact number of bytes for a frame, write() writes
// them. Tables are written before the first frame, after changes, and as the options say. The PCR is in the packets of
// the video track, or of the audio track when there is no video, and in packets of its own where frames are more than
// 100 ms apart. Continuity counters, the PCR and the tables' version continue for the lifetime of the muxer, over all
// segments of a stream.
//
// It does not choose where segments end (segment_muxer.h), and supports only the codecs that carries() names: frames of
// other codecs give no bytes.

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/ts/elementary.h"
#include "protocol/ts/packet.h"
#include "protocol/ts/program.h"

namespace ts {

struct MuxerOptions {
    // How long before its decoding time a frame may arrive: timestamps are ahead of the PCR by this.
    media::Time delay = std::chrono::milliseconds(700);
    // Repeats the tables before each keyframe.
    bool tables_at_keyframes = false;
    // Repeats the tables when the last ones are this old; 0: not by age.
    media::Time tables_every{};
};

// A stream's headers at one position. null, kNone: the stream has none. For a codec without a sequence header the codec
// is given.
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

    // Sets one track's sequence header. After an error that track is not written until a valid one is set.
    base::Result<void> set_header(const media::Frame& header);
    // Sets all headers; a track that is not given is no longer part of the program.
    void set_headers(const Headers& headers);
    // Writes the tables before the next frame.
    void want_tables() { tables_wanted_ = true; }
    // The content of the next tables.
    Program program() const;

    // The number of bytes that write() will write for this frame; 0 when its codec is not supported, or it is no audio
    // or video frame. It may be called again, also for another frame: write() writes the last one prepared. The frame
    // and its payload must be valid until it is written.
    size_t prepare(const media::Frame& frame);
    // Prepares several audio frames as one PES packet. bytes: the frames with the headers from put_audio_header(), at
    // most kMaxFrame in all; dts: of the first frame.
    size_t prepare_audio(std::span<const uint8_t> bytes, media::Time dts);
    // The header of one audio frame for prepare_audio(); nothing when the frame is not supported.
    std::optional<size_t> put_audio_header(const media::Frame& frame, uint8_t out[AudioElementary::kMaxHeader]);

    // Writes the prepared frame. Returns the end.
    uint8_t* write(uint8_t* out);
    // Writes as many of its packets as fit; returns their size in bytes, 0 when all is written.
    size_t write_some(std::span<uint8_t> out);

    // The values that tables before the last written frame must have so that a receiver can start there
    // (put_tables_at()).
    struct StartPoint {
        uint8_t version = 0;
        uint8_t cc = 0;           // one less than that of the next tables
        bool has_tables = false;  // the tables were written before that frame already
        bool low_rate_mp3 = false;
    };
    StartPoint start_point() const { return start_point_; }
    // headers: those in use at that position. Writes kTablesSize bytes; returns the end.
    static uint8_t* put_tables_at(const Headers& headers, const StartPoint& point, uint8_t* out);

  private:
    struct Plan {
        Program program;
        bool tables = false;
        bool had_tables = false;
        uint8_t version = 0;
        int clocks = 0;  // packets that carry only the PCR
        media::Time first_clock{}, clock_step{};
        media::Time dts{};
        bool video = false;
        bool keyframe = false;
        bool has_clock = false;
        bool clock_restarts = false;
        size_t bytes = 0;  // of the PES packet, not yet written
        bool begun = false;
        size_t packets = 0;  // all packets not yet written
    };

    void plan_tables(bool keyframe, media::Time dts);
    void plan_clock(media::Time dts);
    size_t finish_plan(size_t elementary_bytes, media::Time pts, size_t audio_header);
    void put_pes_header(uint8_t* p, size_t elementary_bytes, media::Time pts);
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
    media::Time last_tables_{};
    bool clock_sent_ = false;
    bool clock_begun_ = false;                                // the clock runs, even if no PCR was sent
    media::Time last_clock_{};                                // of the last PCR sent, or of the first frame
    uint8_t tables_cc_ = 15, video_cc_ = 15, audio_cc_ = 15;  // of the last packet written
    StartPoint start_point_;

    Plan plan_;
    uint8_t head_[19 + AudioElementary::kMaxHeader];  // PES header, audio header
    Pieces pieces_;
    size_t piece_ = 0;   // the next one to write
    size_t offset_ = 0;  // offset in that piece
};

}  // namespace ts
