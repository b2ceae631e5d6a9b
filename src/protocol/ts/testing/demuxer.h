#pragma once
// Demuxer: bytes of a transport stream in, in pieces of any size; program, clock and PES packets out (ISO/IEC 13818-1,
// 2.4). It follows the first program of the association table, resynchronizes on packet boundaries after errors, counts
// missing packets and continues. Of each kind at most media::kMaxTracks streams are read, numbered in the order of the
// map. Times are unwrapped beyond 2^33 ticks. Scrambled packets are not read, and elementary streams are not parsed
// (frame_reader.h does that).

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/slice.h"
#include "media/codec.h"
#include "media/frame.h"
#include "media/language.h"
#include "protocol/ts/packet.h"

namespace ts {

struct ProgramStream {
    uint16_t pid = 0;
    uint8_t stream_type = 0;
    media::Codec codec = media::Codec::kNone;  // kNone: unknown
    uint8_t opus_channels = 2;
    uint8_t track = 0;  // Frame::track: among the streams of its kind; 0 for unknown codecs
    media::Language language{};
    bool operator==(const ProgramStream&) const = default;
};

struct ProgramMap {
    uint16_t number = 0;
    uint8_t version = 0;
    uint16_t pcr_pid = kNullPid;
    std::vector<ProgramStream> streams;
    size_t skipped = 0;  // streams: more than kMaxTracks of a kind, more than kMaxStreams, or a PID that is taken
};

struct PesPacket {
    ProgramStream stream;
    // Ticks of 90 kHz, unwrapped. dts equals pts when the packet has no DTS.
    std::optional<int64_t> pts;
    std::optional<int64_t> dts;
    bool random_access = false;
    bool damaged = false;  // packets are missing inside or at its end
    base::Slice payload;   // the elementary stream's bytes
};

class DemuxerSink {
  public:
    // A new map, or a new version of it.
    virtual void on_program(const ProgramMap&) {}
    // ticks: of 90 kHz, unwrapped. discontinuity: a new time base begins.
    virtual void on_clock(int64_t /*ticks*/, bool /*discontinuity*/) {}
    virtual void on_pes(PesPacket packet) = 0;

  protected:
    ~DemuxerSink() = default;
};

struct DemuxerCounters {
    uint64_t packets = 0;
    uint64_t skipped_bytes = 0;  // between packets
    uint64_t continuity_errors = 0;
    uint64_t duplicates = 0;
    uint64_t flagged = 0;  // skipped: transport error, or scrambled
    uint64_t bad_tables = 0;
    uint64_t skipped_streams = 0;  // of all new maps
    uint64_t bad_pes = 0;
    uint64_t too_long = 0;  // PES packets above the size limit, truncated
};

class Demuxer {
  public:
    static constexpr size_t kMaxStreams = 32;
    // limit_of_pes: bytes of one PES packet.
    explicit Demuxer(DemuxerSink& sink, size_t limit_of_pes = 8 * 1024 * 1024);

    void feed(std::span<const uint8_t> bytes);
    // Delivers the PES packets whose end would only be known from the next one. Feeding may continue afterwards.
    void finish();

    const DemuxerCounters& counters() const { return counters_; }
    const ProgramMap& program() const { return program_; }

  private:
    struct Pid {
        int cc = -1;  // of the last packet with payload
        bool duplicated = false;
    };
    struct Section {
        std::vector<uint8_t> bytes;  // of the unfinished one
        bool open = false;
    };
    struct Stream {
        ProgramStream info;
        bool open = false;
        bool random_access = false;
        bool damaged = false;
        size_t wanted = 0;  // size of the whole packet in bytes, 0: until the next one begins
        base::SliceBuilder bytes;
    };
    struct Packet {
        uint16_t pid = 0;
        bool start = false;
        uint8_t flags = 0;  // of the adaptation field
        std::span<const uint8_t> payload;
    };

    // The number of bytes needed for the next packet, or to find the packet boundary.
    size_t wanted_bytes() const { return locked_ ? kPacketSize : kPacketSize + 1; }
    size_t take_packets(std::span<const uint8_t> bytes);
    void take_packet(std::span<const uint8_t> bytes);
    bool read_adaptation(std::span<const uint8_t> field, Packet& packet);
    bool check_continuity(const Packet& packet, uint8_t cc);
    void take_section_bytes(const Packet& packet, Section& section, uint8_t table);
    void feed_section(std::span<const uint8_t> bytes, Section& section, uint8_t table);
    bool take_association(std::span<const uint8_t> section);
    bool take_map(std::span<const uint8_t> section);
    void take_pes_bytes(const Packet& packet, Stream& stream);
    void end_pes(Stream& stream);
    void end_all_pes();
    int64_t unwrap(uint64_t ticks);

    DemuxerSink& sink_;
    size_t limit_of_pes_;
    DemuxerCounters counters_;
    std::vector<uint8_t> rest_;  // at most a packet, between calls of feed()
    bool locked_ = false;
    std::map<uint16_t, Pid> pids_;
    Section association_, map_;
    uint16_t map_pid_ = kNullPid;
    ProgramMap program_;
    bool has_program_ = false;
    std::map<uint16_t, Stream> streams_;
    std::optional<int64_t> last_ticks_;
};

}  // namespace ts
