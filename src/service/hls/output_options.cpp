#include "service/hls/output_options.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"

namespace service::hls {

namespace {

int64_t ms(double seconds) { return static_cast<int64_t>(seconds * 1000 + 0.5); }

std::string without_slash(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

}  // namespace

OutputOptions output_options(const live::StreamKey& key, const config::Vhost& vhost) {
    OutputOptions out{key,
                      vhost.get<VhostConfig>(),
                      0,
                      vhost.play.rejoin_timeout,
                      static_cast<size_t>(vhost.stream_memory) << 20,
                      vhost.get<DashConfig>()};
    if (out.hls.enabled) return out;
    out.hls.use_fmp4 = true;
    out.hls.keys = false;
    out.hls.fragment = out.dash.fragment;
    out.hls.dvr_window = 0;
    out.hls.window = std::min(out.dash.timeshift, out.dash.window_size * out.dash.fragment);
    return out;
}

int OutputOptions::dispose_s() const {
    if (!hls.enabled || !dash.enabled) return hls.enabled ? hls.dispose : dash.dispose;
    return hls.dispose == 0 || dash.dispose == 0 ? 0 : std::max(hls.dispose, dash.dispose);
}

std::string location_of(const live::StreamKey& key, const VhostConfig& hls, const SegmentPaths& names) {
    if (hls.storage == "memory" || !hls.enabled) return fmt::format("{}:{}", key.vhost, names.playlist());
    return fmt::format("{}/{}", hls.path, names.playlist());
}

std::string root_of(const VhostConfig& hls) { return without_slash(hls.path); }

CutOptions cut_options(const OutputOptions& options) {
    const VhostConfig& hls = options.hls;
    CutOptions cut{std::max<int64_t>(1, ms(hls.fragment)), hls.aof_ratio, hls.wait_keyframe, hls.ts_floor};
    // Half of the memory is for segments, of which several are always held.
    if (hls.has_parts()) cut.part_ms = hls.part_ms;
    if (hls.storage != "disk" || hls.has_parts())
        cut.max_bytes = std::min<uint64_t>(cut.max_bytes, options.memory_limit / 8);
    return cut;
}

// Frames may be a second long.
bool keeps_part_target(const VhostConfig& hls, media::Time target) {
    const media::Time part = media::from_ms(hls.part_ms);
    return hls.has_parts() && target >= part / 2 && target <= 2 * part + std::chrono::seconds(1);
}

SegmentTimelineOptions timeline_options(const OutputOptions& options) {
    const VhostConfig& hls = options.hls;
    const auto usual = static_cast<size_t>(hls.length() / hls.fragment);
    // Players of low latency do not bear a target duration that grows: where a keyframe is late, a segment begins
    // without one.
    const bool waits = hls.wait_keyframe && !hls.has_parts();
    SegmentTimelineOptions out{ms(hls.length()), ms(hls.fragment * hls.td_ratio), 1'000 + 2 * usual, waits};
    out.grows = waits;
    out.fixed = hls.has_parts();
    // An earlier run had fewer parts than milliseconds.
    out.first_part = static_cast<uint64_t>(base::wall_ms());
    if (!options.dash.enabled) return out;
    out.kept_segments = static_cast<size_t>(options.dash.window_size) + SegmentTimeline::kMinSegments;
    // The file of the manifest names them until it is written again.
    if (options.on_disk()) out.kept_ms = ms(options.dash.update_period);
    return out;
}

SegmentWriterOptions writer_options(const OutputOptions& options) {
    const VhostConfig& hls = options.hls;
    return {hls.use_fmp4, hls.storage != "disk" || hls.has_parts(), options.dash.enabled};
}

SegmentFilesOptions files_options(const OutputOptions& options) {
    const VhostConfig& hls = options.hls;
    SegmentFilesOptions out;
    out.vhost = options.key.vhost;
    out.stream = std::make_shared<const live::StreamKey>(options.key);
    out.root = root_of(hls);
    out.key_root = hls.key_file_path.empty() ? out.root : without_slash(hls.key_file_path);
    out.cleanup = hls.cleanup;
    out.recover = hls.recover;
    // A segment must not be cached beyond its window, or until a disposed stream starts again with the same names.
    out.max_age_s = std::max<int64_t>(1, static_cast<int64_t>(hls.length()));
    if (hls.dispose > 0) out.max_age_s = std::min<int64_t>(out.max_age_s, hls.dispose);
    return out;
}

}  // namespace service::hls
