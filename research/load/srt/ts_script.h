#pragma once
// TsScript: what an SRT publisher sends: a transport stream (ISO/IEC 13818-1) cut into messages of at most seven
// packets, each with the time that the last clock reference (PCR) before its end gives it, as a muxer that writes in
// real time sends them. One for all publishers.

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace load::srt {

class TsScript {
  public:
    // A file of whole packets with clock references of one program, at least two that differ. Packets before the first
    // reference have its time.
    static base::Result<TsScript> parse(std::vector<uint8_t> file);

    struct Message {
        int64_t time_us = 0;  // from the beginning, ascending
        std::span<const uint8_t> bytes;
    };
    // Any index: the file is repeated, its times go on. What is in it (PTS, PCR) begins anew.
    Message at(uint64_t index) const;
    size_t size() const { return cuts_.size(); }  // messages of one round
    int64_t round_us() const { return round_us_; }
    double kbps() const { return static_cast<double>(bytes_.size()) * 8000 / static_cast<double>(round_us_); }

  private:
    struct Cut {
        int64_t time_us;
        size_t offset, size;
    };
    std::vector<uint8_t> bytes_;
    std::vector<Cut> cuts_;
    int64_t round_us_ = 0;
};

}  // namespace load::srt
