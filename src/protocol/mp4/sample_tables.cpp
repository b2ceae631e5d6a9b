// expand() of movie.h: converts stts, ctts, stsc, stsz, stco and stss of a plain file to samples (ISO/IEC 14496-12,
// 8.6, 8.7).

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "protocol/mp4/movie.h"

namespace mp4 {

using base::ByteReader;
using base::Code;
using base::fail;
using base::Result;

namespace {

std::unexpected<base::Error> contradiction(std::string_view what) {
    return fail(Code::kProtocol, fmt::format("MP4: {}", what));
}

// Reads the sizes, and the offsets by chunk.
Result<void> read_positions(const SampleTableBytes& t, std::vector<Sample>& samples) {
    ByteReader sizes(t.stsz), offsets(t.chunk_offsets), groups(t.stsc);
    size_t chunks = t.chunk_offsets.size() / (t.long_offsets ? 8 : 4);
    size_t at = 0;
    uint32_t next_first = groups.left() ? groups.u32() : 0;
    uint32_t per_chunk = 0, description = 1;
    if (!samples.empty() && next_first != 1) return contradiction("stsc does not begin with the first chunk");
    for (size_t chunk = 1; chunk <= chunks; ++chunk) {
        if (next_first == chunk) {
            per_chunk = groups.u32();
            description = groups.u32();
            next_first = groups.left() ? groups.u32() : 0;
        }
        uint64_t offset = t.long_offsets ? offsets.u64() : offsets.u32();
        if (per_chunk > samples.size() - at) return contradiction("stsc has more samples than stsz");
        for (uint32_t i = 0; i < per_chunk; ++i, ++at) {
            samples[at].size = t.fixed_size ? t.fixed_size : sizes.u32();
            samples[at].offset = offset;
            samples[at].description = description;
            offset += samples[at].size;
        }
    }
    if (at != samples.size()) return contradiction("stsc and stco do not tell where all samples are");
    return {};
}

Result<void> read_times(const SampleTableBytes& t, std::vector<Sample>& samples) {
    size_t at = 0;
    int64_t dts = 0;
    for (ByteReader r(t.stts); r.left();) {
        uint32_t count = r.u32(), duration = r.u32();
        if (count > samples.size() - at) return contradiction("stts has more samples than stsz");
        if (dts > kMaxTime) return contradiction("an invalid decoding time");
        for (; count > 0; --count, ++at) {
            samples[at].dts = dts;
            samples[at].duration = duration;
            dts += duration;
        }
    }
    if (at != samples.size()) return contradiction("stts has fewer samples than stsz");
    at = 0;
    for (ByteReader r(t.ctts); r.left();) {
        uint32_t count = r.u32();
        auto cts = static_cast<int32_t>(r.u32());
        if (count > samples.size() - at) return contradiction("ctts has more samples than stsz");
        for (; count > 0; --count, ++at) samples[at].cts = cts;
    }
    return {};
}

}  // namespace

Result<std::vector<Sample>> expand(const MovieTrack& track, size_t max_samples) {
    const SampleTableBytes& t = track.tables;
    if (t.samples > max_samples) {
        return fail(Code::kLimit, fmt::format("MP4: a track of {} samples, more than {}", t.samples, max_samples));
    }
    std::vector<Sample> samples(t.samples);
    TRY(read_positions(t, samples));
    TRY(read_times(t, samples));
    for (Sample& sample : samples) sample.sync = t.all_sync;
    for (ByteReader r(t.stss); r.left();) {
        uint32_t number = r.u32();
        if (number == 0 || number > samples.size()) return contradiction("stss names a sample that does not exist");
        samples[number - 1].sync = true;
    }
    return samples;
}

}  // namespace mp4
