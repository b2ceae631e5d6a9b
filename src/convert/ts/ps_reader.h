#pragma once
// PsReader: the tracks of an MPEG program stream (cameras of GB/T 28181) as frames of a stream.

#include "convert/ts/pes_reader.h"
#include "protocol/ps/demuxer.h"

namespace convert {

class PsReader final : public PesReader {
  public:
    const ts::ProgramMap& program() const override { return demuxer_.program(); }
    void list_unfinished(std::vector<uint64_t>& packets) const override { demuxer_.list_unfinished(packets); }

  private:
    void feed_demuxer(std::span<const uint8_t> bytes) override { demuxer_.feed(bytes); }
    void gap_demuxer() override { demuxer_.on_gap(); }
    void finish_demuxer() override { demuxer_.finish(); }
    void drop_demuxer() override { demuxer_.drop_unfinished(); }
    bool end_unit_of_demuxer() override {
        if (!demuxer_.at_boundary()) return false;
        demuxer_.end_unit();
        return true;
    }
    size_t demuxer_memory() const override { return demuxer_.memory(); }
    const ts::DemuxerCounters& demuxer_counters() const override { return demuxer_.counters(); }

    ps::Demuxer demuxer_{*this};
};

}  // namespace convert
