// A file that may be an MP4: read as a whole, and finished as a recording. The result of finishing must be a plain file
// with the same number of samples, all inside the file.
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "protocol/mp4/recording_testing.h"
#include "protocol/mp4/testing/demuxer.h"

namespace {

constexpr size_t kMaxSamples = 1 << 16;

void read_all(std::span<const uint8_t> file) {
    auto read = mp4::demux(file, kMaxSamples);
    if (!read) {
        CHECK(!read.error().text().empty());
        return;
    }
    for (size_t i = 0; i < read->movie.tracks.size(); ++i) {
        const mp4::Track& track = read->movie.tracks[i].track;
        for (const auto& entry : track.entries) (void)mp4::header_of(track, entry).has_value();
        for (const mp4::Sample& sample : read->samples[i]) {
            CHECK(sample.offset <= file.size() && sample.size <= file.size() - sample.offset);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::vector<uint8_t> file(data, data + size);
    read_all(file);
    mp4::Finisher finisher(file.size());
    auto scanned = mp4::scan(finisher, file);
    if (!scanned) {
        CHECK(!scanned.error().text().empty());
        return 0;
    }
    if (finisher.finished_already() || finisher.samples() > kMaxSamples) return 0;
    for (uint64_t block : {0, 4096}) {
        auto done = file;
        CHECK(mp4::finish_in_memory(done, block));
        auto plain = mp4::demux(done);
        if (!plain) fprintf(stderr, "%s\n", plain.error().text().c_str());
        CHECK(plain && !plain->movie.fragmented);
        uint64_t samples = 0;
        for (const auto& track : plain->samples) samples += track.size();
        CHECK(samples == finisher.samples() && plain->samples.size() <= mp4::kMaxTracks);
    }
    return 0;
}
