// parse_moof() of movie.h (ISO/IEC 14496-12, 8.8).

#include <fmt/format.h>

#include "base/bytes.h"
#include "protocol/mp4/box_reader.h"
#include "protocol/mp4/movie.h"

namespace mp4 {

using base::ByteReader;
using base::Code;
using base::fail;
using base::Result;
using media::fourcc;

namespace {

using Bytes = std::span<const uint8_t>;

// The state while a track fragment is read.
struct Traf {
    size_t track = 0;
    SampleDefaults defaults;
    uint64_t base = 0;  // base of the data offsets
    uint64_t data = 0;  // position of the next run without an offset
    int64_t dts = 0;
};

Result<bool> read_tfhd(Bytes payload, uint64_t moof_offset, const Movie& movie, Traf& traf) {
    ByteReader r(payload);
    uint32_t flags = r.u32() & 0xffffff;
    uint32_t id = r.u32();
    size_t i = 0;
    while (i < movie.tracks.size() && movie.tracks[i].track.id != id) ++i;
    if (i == movie.tracks.size()) return false;
    traf.track = i;
    traf.defaults = movie.tracks[i].defaults;
    traf.base = flags & 1 ? r.u64() : moof_offset;
    if (flags & 0x2) traf.defaults.description = r.u32();
    if (flags & 0x8) traf.defaults.duration = r.u32();
    if (flags & 0x10) traf.defaults.size = r.u32();
    if (flags & 0x20) traf.defaults.flags = r.u32();
    if (!r.ok()) return fail(Code::kProtocol, "MP4: the box tfhd is too short");
    traf.data = traf.base;
    return true;
}

constexpr uint32_t kNonSyncBit = 0x10000;

Result<void> read_trun(Bytes payload, Traf& traf, MovieFragment& out) {
    ByteReader r(payload);
    uint32_t flags = r.u32() & 0xffffff;
    uint32_t count = r.u32();
    if (flags & 0x1) traf.data = traf.base + static_cast<uint64_t>(int64_t{static_cast<int32_t>(r.u32())});
    uint32_t first_flags = flags & 0x4 ? r.u32() : traf.defaults.flags;
    size_t entry = ((flags & 0x100) != 0) + ((flags & 0x200) != 0) + ((flags & 0x400) != 0) + ((flags & 0x800) != 0);
    bool fits = entry ? uint64_t{count} * entry * 4 <= r.left() : count + out.samples.size() <= kMaxUniformRun;
    if (traf.dts > kMaxTime) return fail(Code::kProtocol, "MP4: an invalid decoding time");
    if (!r.ok() || !fits)
        return fail(Code::kProtocol, fmt::format("MP4: a trun of {} samples in {} bytes", count, payload.size()));
    Run run{traf.track, traf.defaults.description, out.samples.size(), count, 0};
    for (uint32_t i = 0; i < count; ++i) {
        Sample s;
        s.duration = flags & 0x100 ? r.u32() : traf.defaults.duration;
        s.size = flags & 0x200 ? r.u32() : traf.defaults.size;
        uint32_t sample_flags = flags & 0x400 ? r.u32() : i == 0 ? first_flags : traf.defaults.flags;
        s.cts = flags & 0x800 ? static_cast<int32_t>(r.u32()) : 0;
        s.sync = !(sample_flags & kNonSyncBit);
        s.description = run.description;
        s.offset = traf.data;
        s.dts = traf.dts;
        traf.data += s.size;
        traf.dts += s.duration;
        out.samples.push_back(s);
    }
    run.end = traf.data;
    if (count) out.runs.push_back(run);
    return {};
}

Result<void> read_traf(Bytes payload, uint64_t moof_offset, const Movie& movie, std::vector<int64_t>& next_dts,
                       MovieFragment& out) {
    Traf traf;
    bool known = false;
    BoxReader boxes(payload);
    while (auto box = boxes.next()) {
        if (box->type == fourcc("tfhd")) {
            known = TRY(read_tfhd(box->payload, moof_offset, movie, traf));
            if (!known) return {};
            traf.dts = next_dts[traf.track];
        } else if (box->type == fourcc("tfdt")) {
            ByteReader r(box->payload);
            bool wide = r.u32() >> 24 == 1;
            traf.dts = static_cast<int64_t>((wide ? r.u64() : r.u32()) & (UINT64_MAX >> 1));
            if (!r.ok()) return fail(Code::kProtocol, "MP4: the box tfdt is too short");
        } else if (box->type == fourcc("trun") && known) {
            TRY(read_trun(box->payload, traf, out));
        }
    }
    if (!boxes.ok()) return fail(Code::kProtocol, "MP4: the box traf is broken");
    if (traf.dts > kMaxTime) return fail(Code::kProtocol, "MP4: an invalid decoding time");
    if (known) next_dts[traf.track] = traf.dts;
    return {};
}

}  // namespace

Result<void> parse_moof(Bytes payload, uint64_t moof_offset, const Movie& movie, std::vector<int64_t>& next_dts,
                        MovieFragment& out) {
    out.runs.clear();
    out.samples.clear();
    next_dts.resize(movie.tracks.size());
    BoxReader boxes(payload);
    while (auto box = boxes.next()) {
        if (box->type == fourcc("mfhd")) {
            ByteReader r(box->payload);
            r.skip(4);
            out.sequence = r.u32();
        } else if (box->type == fourcc("traf")) {
            TRY(read_traf(box->payload, moof_offset, movie, next_dts, out));
        }
    }
    if (!boxes.ok()) return fail(Code::kProtocol, "MP4: the box moof is broken");
    return {};
}

}  // namespace mp4
