#pragma once
// TsReader: the tracks of an MPEG transport stream (SRT, UDP) as frames of a stream.

#include "convert/ts/pes_reader.h"

namespace convert {

class TsReader final : public PesReader {
  public:
    const ts::ProgramMap& program() const override { return demuxer_.program(); }
    void list_unfinished(std::vector<uint64_t>& packets) const override { demuxer_.list_unfinished(packets); }

  private:
    void feed_demuxer(std::span<const uint8_t> bytes) override { demuxer_.feed(bytes); }
    void gap_demuxer() override { demuxer_.on_gap(); }
    void finish_demuxer() override { demuxer_.finish(); }
    void drop_demuxer() override { demuxer_.drop_unfinished(); }
    size_t demuxer_memory() const override { return demuxer_.memory(); }
    const ts::DemuxerCounters& demuxer_counters() const override { return demuxer_.counters(); }

    ts::Demuxer demuxer_{*this};
};

}  // namespace convert
