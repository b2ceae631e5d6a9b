#pragma once
// Demuxer: bytes of a program stream in, as cameras of GB/T 28181 send it, in pieces of any size; its streams and PES
// packets out (ISO/IEC 13818-1, 2.5). It believes nothing that comes: after bytes that are no part of a program stream,
// and after a gap, it begins again at the next pack header, and what was unfinished is given up. Packets of streams
// that the map does not have, private ones among them, are skipped by their length; before the map comes that is all.
//
// An access unit of video may be in several packets: those without a time, and those with the same time again, continue
// the one before (PesPacket::may_continue, and no time). Elementary streams are not parsed (ts/frame_reader.h does
// that). Not read: packs of MPEG-1, packets without a length.
//
// Memory: an unfinished packet, at most 64 kB, and a map.

#include <cstdint>
#include <span>
#include <vector>

#include "base/slice.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/pes.h"

namespace ps {

class Demuxer {
  public:
    // sink: must outlive it. on_clock() is not called.
    explicit Demuxer(ts::DemuxerSink& sink) : sink_(sink) {}

    void feed(std::span<const uint8_t> bytes);
    // Bytes before the next ones are missing.
    void on_gap();
    // The next packet of video with a time begins an access unit, though its time may be that of the one before.
    void end_unit();
    // Nothing more comes: an unfinished packet is given up, and the access unit that it may be of; without one that
    // unit is whole. Feeding may continue, at a pack header.
    void finish();
    // Gives up the unfinished packet, and releases its memory.
    void drop_unfinished() { on_gap(); }

    // No part has begun: what comes next begins with a start code.
    bool at_boundary() const { return synced_ && head_.empty() && skip_ == 0 && !open_; }
    // packets: packs. skipped_bytes: between parts.
    const ts::DemuxerCounters& counters() const { return counters_; }
    // Without streams: no map has come.
    const ts::ProgramMap& program() const { return program_; }
    size_t memory() const { return open_ ? bytes_.capacity() : 0; }
    void list_unfinished(std::vector<uint64_t>& packets) const {
        if (open_) packets.push_back(begun_);
    }

  private:
    struct Stream {
        ts::ElementaryStream info;
        bool lost = false;       // something before its next packet
        bool unit_open = false;  // of video: a packet with this time has come
        int64_t unit_pts = 0;
    };

    size_t find_pack(std::span<const uint8_t> bytes);
    size_t take_head(std::span<const uint8_t> bytes);
    size_t wanted_head() const;
    void end_head();
    void begin_packet(size_t length);
    void take_map();
    void end_packet();
    bool set_times(const ts::PesHeader& header, Stream& stream, ts::PesPacket& packet);
    void give_up();
    void restart();
    void lose_sync();
    Stream* find(uint8_t stream_id);

    ts::DemuxerSink& sink_;
    ts::DemuxerCounters counters_;
    bool synced_ = false;
    uint32_t code_ = 0xffffffff;  // the last four bytes, while not synced
    std::vector<uint8_t> head_;   // the start of a part; of a map all of it
    size_t skip_ = 0;             // bytes of a part that is not read
    bool open_ = false;           // a packet: head_ and skip_ are empty
    size_t wanted_ = 0;           // size of the whole packet
    uint64_t begun_ = 0;          // packets
    base::SliceBuilder bytes_;
    std::vector<uint8_t> map_;  // the last one
    ts::ProgramMap program_;
    std::vector<Stream> streams_;
    ts::TimeUnwrapper times_;
};

}  // namespace ps
