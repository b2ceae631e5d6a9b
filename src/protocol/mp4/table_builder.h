#pragma once
// The sample tables of one track (ISO/IEC 14496-12, 8.6, 8.7), built while samples are added in decoding order,
// directly in file format, so that no conversion is needed at the end. About 4 bytes a sample, and 8 more for each
// change of duration or composition offset.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/bytes.h"
#include "protocol/mp4/moov.h"

namespace mp4 {

class TableBuilder {
  public:
    // Times are in the track's time scale. A dts before that of the previous sample is raised to it. A chunk is a run
    // of samples with consecutive bytes in the file.
    void begin_chunk(uint64_t offset, uint32_t description);
    void add(int64_t dts, uint32_t duration, uint32_t size, int32_t cts, bool sync);

    uint32_t samples() const { return samples_; }
    // Ends the sample list; call it once. The functions below require it.
    void end();
    // The earliest presentation time of the track, and the end of the latest, in the track's time scale.
    int64_t first_pts() const { return first_pts_; }
    int64_t end_pts() const { return end_pts_; }
    // The position of the earliest presentation on the tables' time line.
    int64_t media_time() const { return std::max<int64_t>(0, first_pts_ - first_dts_); }
    // shift is added to all file offsets. The bytes belong to this object and are valid until the next call; the edits
    // are left empty.
    SampleTables tables(int64_t shift, bool long_offsets);

  private:
    // Run-length entries: a count and a value (stts, ctts).
    struct RunLength {
        std::vector<uint8_t> bytes;
        uint32_t count = 0;
        uint32_t value = 0;
        void add(uint32_t v) {
            if (count && v == value) {
                ++count;
                return;
            }
            flush();
            value = v;
            count = 1;
        }
        void flush() {
            if (!count) return;
            base::ByteWriter w(bytes);
            w.u32(count);
            w.u32(value);
            count = 0;
        }
    };
    void close_sample(int64_t next_dts);
    void close_chunk();
    void lift_offsets(int64_t by);

    RunLength stts_, ctts_;
    std::vector<uint8_t> stsz_, stss_, stsc_, offsets_;
    std::vector<uint64_t> chunks_;
    uint32_t chunk_samples_ = 0;  // in the open chunk
    uint32_t chunk_description_ = 1;
    uint32_t stsc_samples_ = 0;  // in the last stsc entry
    uint32_t stsc_description_ = 0;
    uint32_t samples_ = 0;
    bool has_cts_ = false;
    bool all_sync_ = true;
    int64_t first_dts_ = 0;
    int64_t last_dts_ = 0;
    int64_t last_pts_ = 0;
    uint32_t last_duration_ = 0;
    int64_t first_pts_ = std::numeric_limits<int64_t>::max();
    int64_t end_pts_ = 0;
};

}  // namespace mp4
