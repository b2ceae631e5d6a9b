#pragma once
// Conformance: checks the segments of one stream against ISO/IEC 13818-1 and RFC 8216: whole packets; tables first,
// then a keyframe of the first video track; no PID that is not in the map; continuity counters without gaps across
// segments; increasing times on each PID; a PCR at least every 100 ms that is never later than the timestamps it
// precedes. It reports problems as text. For tests, based on the demuxer.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "protocol/ts/demuxer.h"

namespace ts::testing {

struct ConformanceOptions {
    bool keyframe_first = true;  // of each segment, where there is video
    int64_t most_clock_gap_ms = 100;
    int64_t most_gap_ms = 1'000;  // between the timestamps of one PID
};

class Conformance final : public DemuxerSink {
  public:
    explicit Conformance(ConformanceOptions options = {}) : options_(options), demuxer_(*this) {}

    void segment(std::span<const uint8_t> bytes);
    const std::vector<std::string>& problems() const { return problems_; }
    std::string text() const;
    const DemuxerCounters& counters() const { return demuxer_.counters(); }
    // Totals of what was checked, so that a test can verify that there was any input.
    size_t clocks = 0, video_frames = 0, audio_frames = 0, programs = 0;
    std::map<uint16_t, size_t> pes_packets;  // of each PID

  private:
    void on_program(const ProgramMap& program) override;
    void on_clock(int64_t ticks, bool discontinuity) override;
    void on_pes(PesPacket packet) override;
    void check_start(std::span<const uint8_t> bytes);
    void check_pids(std::span<const uint8_t> bytes);
    void check_video(const PesPacket& packet);
    template <class... Parts>
    void problem(const char* format, Parts... parts);

    ConformanceOptions options_;
    Demuxer demuxer_;
    std::vector<std::string> problems_;
    int segment_ = -1;
    bool seen_video_ = false;    // in this segment
    std::set<uint16_t> mapped_;  // PIDs of the maps of this segment
    std::optional<int64_t> clock_;
    std::map<uint16_t, int64_t> last_dts_;
};

}  // namespace ts::testing
