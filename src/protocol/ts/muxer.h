#pragma once
// Muxer: frames in, transport packets out (ISO/IEC 13818-1, 2.4), one program. It writes from the frame's own bytes
// into memory of the caller, in two steps: prepare() returns the exact number of bytes for a frame, write() writes
// them. Tables are written before the first frame, after changes, and as the options say. The PCR is in the packets of
// the first video track, or of the first audio track when there is no video, and in packets of its own where frames are
// more than 100 ms apart. Continuity counters, the PCR and the tables' version continue for the lifetime of the muxer,
// over all segments of a stream.
//
// A track is a (Frame::kind, Frame::track); its PID is pid_of() both. Of each kind there are at most media::kMaxTracks:
// frames of tracks beyond give no bytes, as do frames of codecs that carries() does not name. It does not choose where
// segments end (segment_muxer.h).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "media/track_set.h"
#include "protocol/ts/elementary.h"
#include "protocol/ts/packet.h"
#include "protocol/ts/program.h"

namespace ts {

struct MuxerOptions {
    // How long before its decoding time a frame may arrive: timestamps are ahead of the PCR by this.
    media::Time delay = std::chrono::milliseconds(700);
    // Repeats the tables before each keyframe of the track with the PCR.
    bool tables_at_keyframes = false;
    // Repeats the tables when the last ones are this old; 0: not by age.
    media::Time tables_every{};
};

class Muxer {
  public:
    explicit Muxer(MuxerOptions options = {});
    Muxer(const Muxer&) = delete;
    Muxer& operator=(const Muxer&) = delete;

    // Sets one track's sequence header. After an error that track is not written until a valid one is set.
    base::Result<void> set_header(const media::Frame& header);
    // Sets all tracks: their sequence headers, the codecs of those without, and the languages of audio. A track that is
    // not given is no longer part of the program; one whose header is invalid, or is missing, is left out. The tracks
    // are not kept.
    void set_tracks(std::span<const media::Track> tracks);
    // Writes the tables before the next frame.
    void want_tables() { tables_wanted_ = true; }
    // The content of the next tables.
    const Program& program() const { return program_; }
    bool has_video() const { return has_video_; }

    // The number of bytes that write() will write for this frame; 0 when its codec is not supported, or it is no audio
    // or video frame. It may be called again, also for another frame: write() writes the last one prepared, and nothing
    // after a track was set. The frame and its payload must be valid until it is written.
    size_t prepare(const media::Frame& frame);
    // Prepares several frames of an audio track as one PES packet. bytes: the frames with the headers from
    // put_audio_header(), at most kMaxFrame in all; dts: of the first frame. 0: there is no such track.
    size_t prepare_audio(uint8_t track, std::span<const uint8_t> bytes, media::Time dts);
    // The header of one audio frame for prepare_audio(); nothing when the frame is not supported.
    std::optional<size_t> put_audio_header(const media::Frame& frame, uint8_t out[AudioElementary::kMaxHeader]);

    // Writes the prepared frame. Returns the end.
    uint8_t* write(uint8_t* out);
    // Writes as many of its packets as fit; returns their size in bytes, 0 when all is written. Each buffer has room
    // for kMaxTablesSize.
    size_t write_some(std::span<uint8_t> out);

    // The values that tables before a frame must have so that a receiver can start there (put_tables_at()).
    struct StartPoint {
        uint8_t version = 0;
        uint8_t pat_cc = 0, pmt_cc = 0;  // one less than those of the next tables
        bool has_tables = false;         // the tables were written before that frame already
        uint8_t low_rate_mp3 = 0;        // a bit for each audio track
    };
    // The start point of the frame prepared last, before it is written and afterwards.
    StartPoint start_point() const {
        return {version_, pat_cc_, pmt_cc_, plan_.tables || plan_.had_tables, low_rate_mp3_};
    }
    // tracks: those that were set at that point. Writes at most kMaxTablesSize bytes; returns the end.
    static uint8_t* put_tables_at(std::span<const media::Track> tracks, const StartPoint& point, uint8_t* out);

  private:
    struct Plan {
        bool tables = false;
        bool had_tables = false;
        uint8_t version = 0;
        int clocks = 0;  // packets that carry only the PCR
        media::Time first_clock{}, clock_step{};
        media::Time dts{};
        uint16_t pid = kNullPid;
        uint8_t stream_id = 0;
        bool keyframe = false;
        bool has_clock = false;
        bool clock_restarts = false;
        size_t bytes = 0;  // of the PES packet, not yet written
        bool begun = false;
        size_t packets = 0;  // all packets not yet written
    };

    // What is prepared ends with a change of the program.
    void update_program();
    // Null: no such track is possible.
    AudioElementary* audio_of(const media::Frame& frame);
    void begin_plan(media::Kind kind, uint8_t track, uint8_t stream_id, media::Time dts);
    void plan_tables();
    void plan_clock();
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
    uint8_t& counter(uint16_t pid) { return counters_[pid - kVideoPid]; }

    MuxerOptions options_;
    std::vector<VideoElementary> video_;  // by index, at most kMaxTracks
    std::vector<AudioElementary> audio_;
    std::array<media::Language, media::kMaxTracks> languages_{};  // of the audio tracks

    Program program_;
    // What program_ says, for each frame.
    uint16_t pcr_pid_ = kNullPid;
    bool has_video_ = false;
    uint8_t low_rate_mp3_ = 0;
    size_t table_packets_ = 0;

    bool tables_wanted_ = true;
    bool tables_sent_ = false;
    Program sent_program_;
    bool program_changed_ = false;  // since the last tables
    uint8_t version_ = 0;
    media::Time last_tables_{};
    bool clock_sent_ = false;
    bool clock_begun_ = false;  // the clock runs, even if no PCR was sent
    media::Time last_clock_{};  // of the last PCR sent, or of the first frame
    // Continuity counters of the last packet written, of the tables and of each PID.
    uint8_t pat_cc_ = 15, pmt_cc_ = 15;
    std::array<uint8_t, kMaxProgramTracks> counters_;

    Plan plan_;
    uint8_t head_[19 + AudioElementary::kMaxHeader];  // PES header, audio header
    Pieces pieces_;
    size_t piece_ = 0;   // the next one to write
    size_t offset_ = 0;  // offset in that piece
};

}  // namespace ts
