#pragma once
// Demuxer: bytes of a transport stream in, in pieces of any size; program, clock and PES packets out (ISO/IEC 13818-1,
// 2.4). It believes nothing that comes: it finds the packets again after junk and cut packets, counts what is wrong,
// and a lost packet costs the PES packet that it was of. Of several programs it follows one: the first of the
// association table that has a stream of a known codec. Of each kind at most media::kMaxTracks streams are read,
// numbered in the order of the map; packets of other PIDs (unknown codecs, SCTE-35, null packets) are skipped by their
// PID. Times are unwrapped beyond 2^33 ticks. Scrambled packets are not read, and elementary streams are not parsed
// (frame_reader.h does that).
//
// Memory: the unfinished PES packets, at most twice as much as the limit of one, and some tables.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/slice.h"
#include "media/frame.h"
#include "protocol/ts/packet.h"
#include "protocol/ts/pes.h"
#include "protocol/ts/section.h"

namespace ts {

struct ProgramMap {
    uint16_t number = 0;
    uint8_t version = 0;
    uint16_t pcr_pid = kNullPid;
    std::vector<ElementaryStream> streams;
    size_t skipped = 0;  // streams: more than kMaxTracks of a kind, more than kMaxStreams, or a PID that is taken

    bool has_known_stream() const;
    bool operator==(const ProgramMap&) const = default;
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
    uint64_t flagged = 0;  // skipped: transport error, scrambled, or a bad adaptation field
    uint64_t bad_tables = 0;
    uint64_t skipped_streams = 0;  // of all new maps
    uint64_t bad_pes = 0;
    uint64_t too_long = 0;  // PES packets above the size limit, truncated
};

class Demuxer {
  public:
    static constexpr size_t kMaxStreams = 32;
    static constexpr size_t kMaxPrograms = 16;  // of which the maps are read
    static constexpr size_t kMaxPes = 8 * 1024 * 1024;

    // limit_of_pes: bytes of one PES packet of video; of audio it is an eighth of that.
    explicit Demuxer(DemuxerSink& sink, size_t limit_of_pes = kMaxPes);

    void feed(std::span<const uint8_t> bytes);
    // Bytes before the next ones are missing: the packet that was cut is given up, and so are PES packets that do not
    // end there.
    void on_gap();
    // Delivers the PES packets whose end would only be known from the next one. Feeding may continue afterwards.
    void finish();
    // Gives up the unfinished PES packets, and releases their memory.
    void drop_unfinished();

    const DemuxerCounters& counters() const { return counters_; }
    // The one that is followed; without streams: none is.
    const ProgramMap& program() const { return program_; }
    // Bytes of allocations for unfinished PES packets.
    size_t memory() const;
    // How many PES packets have begun, for each stream: together with a stream's index the number of the one that is
    // unfinished. Appends them.
    void list_unfinished(std::vector<uint64_t>& packets) const;

  private:
    // The packets of a PID, which are numbered modulo 16.
    struct Continuity {
        int last = -1;      // of the last packet with payload
        uint64_t mark = 0;  // of its payload
        bool duplicated = false;
    };
    enum class Step : uint8_t { kNext, kDuplicate, kGap };
    struct Program {
        uint16_t number = 0;
        uint16_t map_pid = kNullPid;
        unsigned maps = 0;  // read so far
        ProgramMap map{};
    };
    // A PID with the maps of one or more programs.
    struct MapPid {
        uint16_t pid = kNullPid;
        Continuity continuity{};
        SectionReader sections{kPmtTableId};
    };
    struct Stream {
        ElementaryStream info;
        Continuity continuity{};
        bool open = false;
        bool random_access = false;
        bool damaged = false;
        bool lost = false;  // packets before the next PES packet
        bool after_loss = false;
        bool suspect = false;  // a gap in the input, which its next packet may show to be none of its own
        size_t wanted = 0;     // size of the whole packet in bytes; 0: not known yet, SIZE_MAX: until the next begins
        size_t last_size = 0;  // of its last packet
        uint64_t begun = 0;    // packets
        base::SliceBuilder bytes;
    };
    struct Packet {
        uint16_t pid = 0;
        bool start = false;
        uint8_t flags = 0;  // of the adaptation field
        uint8_t cc = 0;
        std::span<const uint8_t> payload;
    };
    static constexpr uint8_t kPmtTableId = 2;

    // The number of bytes needed for the next packet, or to find the packet boundary.
    size_t wanted_bytes() const { return locked_ ? kPacketSize : kPacketSize + 1; }
    size_t take_packets(std::span<const uint8_t> bytes);
    void take_packet(std::span<const uint8_t> bytes);
    bool read_adaptation(std::span<const uint8_t> field, Packet& packet);
    Step check_continuity(Continuity& continuity, const Packet& packet);
    void take_association_packet(const Packet& packet);
    void take_map_packet(const Packet& packet, MapPid& map);
    void take_stream_packet(const Packet& packet, Stream& stream);
    bool take_association(std::span<const uint8_t> section);
    bool take_map(std::span<const uint8_t> section, uint16_t pid);
    void choose_program();
    void follow(const ProgramMap& map);
    void begin_pes(const Packet& packet, Stream& stream);
    void take_pes_bytes(std::span<const uint8_t> bytes, Stream& stream);
    void end_pes(Stream& stream);
    void drop_pes(Stream& stream);
    void end_all_pes();
    size_t limit(const Stream& stream) const;

    DemuxerSink& sink_;
    const size_t limit_of_pes_;
    DemuxerCounters counters_;
    std::vector<uint8_t> rest_;  // at most a packet and a byte, between calls of feed()
    bool locked_ = false;
    Continuity association_continuity_;
    SectionReader association_{0};
    std::vector<Program> programs_;  // in the order of the association table
    std::vector<MapPid> map_pids_;
    std::optional<uint16_t> followed_;  // the program's number
    ProgramMap program_;
    std::vector<Stream> streams_;  // of known codecs, of the followed program
    size_t open_bytes_ = 0;        // of unfinished PES packets
    TimeUnwrapper times_;
};

}  // namespace ts
