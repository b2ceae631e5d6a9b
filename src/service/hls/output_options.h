#pragma once
// What the HLS of one stream is made with, and what follows from it for its parts.

#include <cstddef>
#include <cstdint>
#include <string>

#include "convert/segments/segment_timeline.h"
#include "convert/segments/segmenter.h"
#include "live/hub/stream.h"
#include "service/hls/config.h"
#include "service/hls/dash/config.h"
#include "service/hls/segments/segment_files.h"
#include "service/hls/segments/segment_writer.h"

namespace service::hls {

using convert::CutOptions;
using convert::Segmenter;

struct OutputOptions {
    live::StreamKey key;
    VhostConfig hls;
    uint64_t first_sequence = 0;
    int64_t rejoin_timeout_ms = 30'000;
    size_t memory_limit = 256 << 20;  // of the stream; segments in memory may use half of it
    DashConfig dash{};
    // How long all of it stays when its publisher has left, s; 0: for ever.
    int dispose_s() const;
    // Has files.
    bool on_disk() const { return hls.storage != "memory"; }
};

// Of a vhost that has HLS, DASH, or both. Where HLS is off, `hls` says what DASH takes of it.
OutputOptions output_options(const live::StreamKey& key, const config::Vhost& vhost);

CutOptions cut_options(const OutputOptions& options);
// Whether parts of an earlier run, with that part target, are about as long as configured: a playlist goes on with it.
bool keeps_part_target(const VhostConfig& hls, media::Time target);
SegmentTimelineOptions timeline_options(const OutputOptions& options);
SegmentWriterOptions writer_options(const OutputOptions& options);
// Of all renditions.
SegmentFilesOptions files_options(const OutputOptions& options);
// By which it is known among all streams: two must not write the same playlist; in memory each vhost is separate.
std::string location_of(const live::StreamKey& key, const VhostConfig& hls, const SegmentPaths& names);
// hls_path without a slash at its end.
std::string root_of(const VhostConfig& hls);

}  // namespace service::hls
