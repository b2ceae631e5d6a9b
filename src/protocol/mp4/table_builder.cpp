#include "protocol/mp4/table_builder.h"

#include <algorithm>

namespace mp4 {

using base::ByteWriter;

void TableBuilder::begin_chunk(uint64_t offset, uint32_t description) {
    close_chunk();
    chunks_.push_back(offset);
    chunk_description_ = description;
}

void TableBuilder::close_chunk() {
    if (!chunk_samples_) {
        if (!chunks_.empty()) chunks_.pop_back();
        return;
    }
    if (chunk_samples_ != stsc_samples_ || chunk_description_ != stsc_description_) {
        ByteWriter w(stsc_);
        w.u32(static_cast<uint32_t>(chunks_.size()));
        w.u32(chunk_samples_);
        w.u32(chunk_description_);
        stsc_samples_ = chunk_samples_;
        stsc_description_ = chunk_description_;
    }
    chunk_samples_ = 0;
}

// Sets the duration of the last added sample: until the next one.
void TableBuilder::close_sample(int64_t next_dts) {
    auto duration = static_cast<uint32_t>(std::min<int64_t>(next_dts - last_dts_, UINT32_MAX));
    stts_.add(duration);
    end_pts_ = std::max(end_pts_, last_pts_ + duration);
}

void TableBuilder::add(int64_t dts, uint32_t duration, uint32_t size, int32_t cts, bool sync) {
    if (samples_ == 0) {
        first_dts_ = last_dts_ = dts;
    } else {
        // A gap longer than 32 bits can express is shortened, which moves the following samples earlier.
        dts = std::clamp<int64_t>(dts, last_dts_, last_dts_ + UINT32_MAX);
        close_sample(dts);
    }
    ++samples_;
    ++chunk_samples_;
    last_dts_ = dts;
    last_pts_ = dts + cts;
    last_duration_ = duration;
    first_pts_ = std::min(first_pts_, last_pts_);
    ByteWriter(stsz_).u32(size);
    ctts_.add(static_cast<uint32_t>(cts));
    has_cts_ |= cts != 0;
    // stss is not stored as long as all samples are sync samples.
    if (!sync && all_sync_) {
        for (uint32_t number = 1; number < samples_; ++number) ByteWriter(stss_).u32(number);
        all_sync_ = false;
    }
    if (sync && !all_sync_) ByteWriter(stss_).u32(samples_);
}

// An edit cannot begin before the first decoding time: if an offset is negative, all are increased until none is.
void TableBuilder::lift_offsets(int64_t by) {
    for (size_t at = 4; at < ctts_.bytes.size(); at += 8) {
        base::ByteReader r(std::span(ctts_.bytes).subspan(at, 4));
        base::put_u32(&ctts_.bytes[at], r.u32() + static_cast<uint32_t>(by));
    }
}

void TableBuilder::end() {
    close_chunk();
    if (samples_) close_sample(last_dts_ + last_duration_);
    stts_.flush();
    ctts_.flush();
    if (samples_ && first_pts_ < first_dts_) lift_offsets(first_dts_ - first_pts_);
}

SampleTables TableBuilder::tables(int64_t shift, bool long_offsets) {
    offsets_.clear();
    ByteWriter w(offsets_);
    for (uint64_t chunk : chunks_) {
        uint64_t offset = chunk + static_cast<uint64_t>(shift);
        long_offsets ? w.u64(offset) : w.u32(static_cast<uint32_t>(offset));
    }
    SampleTables t;
    t.duration = samples_ ? static_cast<uint64_t>(last_dts_ - first_dts_) + last_duration_ : 0;
    t.stts = stts_.bytes;
    if (has_cts_) t.ctts = ctts_.bytes;
    t.stsc = stsc_;
    t.stsz = stsz_;
    t.chunk_offsets = offsets_;
    t.long_offsets = long_offsets;
    t.stss = stss_;
    t.all_sync = all_sync_;
    return t;
}

}  // namespace mp4
