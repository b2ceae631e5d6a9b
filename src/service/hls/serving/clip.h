#pragma once
// A clip: the segments of a stream between two times, as one MP4 file (net/http/mp4_clip.h). It begins with the segment
// that has the first time and ends with the one that has the last: they begin with keyframes. It has one set of tracks,
// and one run of times, so it ends early at a discontinuity, at a gap, and where a track begins, ends or changes.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http/http_exchange.h"
#include "net/http/mp4_clip.h"
#include "protocol/http/timestamp.h"
#include "service/hls/rendition.h"

namespace service::hls {

// What it is made of: resources, by their paths.
struct ClipPaths {
    std::vector<std::string> inits{};     // of each rendition
    std::vector<std::string> segments{};  // of one rendition after the other, for each segment
    int64_t start_ms = 0;                 // of the first segment, by the wall clock
};
// The renditions have different tracks, the main one is the first. kNotFound: it has no segment there, or none any
// more.
base::Result<ClipPaths> select_clip(std::span<const Rendition* const> renditions, const http::TimeRange& range);

// Resources, held while they are used.
class ClipSource {
  public:
    static constexpr size_t kMaxSegments = 1'000;  // files are open until the clip is sent
    static constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

    // kNotFound: one is gone; kLimit.
    static base::Result<ClipSource> find(const ClipPaths& paths, const net::Resources& resources,
                                         const std::string& vhost);
    // Yields: opens and reads files.
    base::Result<net::Mp4Clip> make(net::OpenedFiles& files) const;

  private:
    struct Found {
        std::string path;
        net::ResourcePtr resource;
    };
    static base::Result<net::FileParts> parts_of(const Found& found, net::OpenedFiles& files);
    static base::Result<std::string> text_of(const Found& found, net::OpenedFiles& files);

    std::vector<Found> inits_, segments_;
};

}  // namespace service::hls
