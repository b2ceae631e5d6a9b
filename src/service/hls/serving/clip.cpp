#include "service/hls/serving/clip.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "net/http/opened_files.h"

namespace service::hls {

namespace {

using base::Code;
using base::fail;

constexpr int64_t kReadTimeoutMs = 10'000;
constexpr size_t kMaxInitBytes = 1024 * 1024;

// Null: it is not there.
const Entry* entry_at(const Rendition& rendition, Rendition::Id id) {
    const Entry* entry = rendition.list().find(id);
    return entry && entry->is_there() && !entry->path.empty() && !entry->map_path.empty() ? entry : nullptr;
}

}  // namespace

base::Result<ClipPaths> select_clip(std::span<const Rendition* const> renditions, const http::TimeRange& range) {
    const SegmentList& list = renditions.front()->list();
    const SegmentTimeline& timeline = list.timeline();
    ClipPaths clip;
    std::vector<const Rendition*> chosen;  // those that have the first segment
    for (auto id = std::max(list.begin(), timeline.kept()); id < std::min(list.end(), timeline.end()); ++id) {
        const Segment& segment = timeline.at(id);
        if (segment.date_ms <= 0 || segment.date_ms + media::to_ms(segment.duration) <= range.from_ms) continue;
        if (segment.date_ms >= range.to_ms) break;
        const bool is_first = clip.segments.empty();
        if (!is_first && segment.discontinuity) break;
        if (is_first && !entry_at(*renditions.front(), id)) continue;
        if (is_first) clip.start_ms = segment.date_ms;
        for (const Rendition* rendition : renditions) {
            const Entry* entry = entry_at(*rendition, id);
            const auto known = std::ranges::find(chosen, rendition);
            if (is_first && entry) {
                chosen.push_back(rendition);
                clip.inits.push_back(entry->map_path);
            } else if (!is_first && (known != chosen.end()) != (entry != nullptr)) {
                return clip;
            } else if (entry && clip.inits[static_cast<size_t>(known - chosen.begin())] != entry->map_path) {
                return clip;
            }
        }
        for (const Rendition* rendition : chosen) clip.segments.push_back(entry_at(*rendition, id)->path);
    }
    if (clip.segments.empty()) return fail(Code::kNotFound, "there is no segment of that time, or none any more");
    return clip;
}

base::Result<ClipSource> ClipSource::find(const ClipPaths& paths, const net::Resources& resources,
                                          const std::string& vhost) {
    if (paths.segments.size() > kMaxSegments)
        return fail(Code::kLimit, fmt::format("it has more than {} segments", kMaxSegments));
    ClipSource source;
    for (const auto& [from, to] :
         {std::pair(&paths.inits, &source.inits_), std::pair(&paths.segments, &source.segments_)})
        for (const std::string& path : *from) {
            to->push_back({path, resources.find(vhost, path)});
            if (!to->back().resource) return fail(Code::kNotFound, "a segment is gone");
        }
    return source;
}

base::Result<net::FileParts> ClipSource::parts_of(const Found& found, net::OpenedFiles& files) {
    const net::Resource& resource = *found.resource;
    net::FileParts parts;
    if (!resource.root.empty()) {
        const auto file = TRY(files.open({resource.root, found.path, true, nullptr}));
        if (!file->source) return fail(Code::kNotFound, "a segment is gone");
        parts.push_back({file->source, 0, static_cast<uint64_t>(file->info.st_size)});
    } else {
        for (auto& part : resource.parts(0, resource.size))
            parts.push_back({std::move(part.source), part.offset, part.length});
    }
    return parts;
}

base::Result<std::string> ClipSource::text_of(const Found& found, net::OpenedFiles& files) {
    std::string text;
    for (const net::FilePart& part : TRY(parts_of(found, files))) {
        const auto bytes = TRY(part.source->read(part.offset, std::min<uint64_t>(part.length, kMaxInitBytes),
                                                 runtime::Deadline::in_ms(kReadTimeoutMs)));
        text.append(bytes.begin(), bytes.end());
    }
    return text;
}

base::Result<net::Mp4Clip> ClipSource::make(net::OpenedFiles& files) const {
    std::vector<std::string> inits;
    for (const Found& init : inits_) inits.push_back(TRY(text_of(init, files)));
    net::FileParts fragments;
    uint64_t bytes = 0;
    for (const Found& segment : segments_)
        for (net::FilePart& part : TRY(parts_of(segment, files))) {
            bytes += part.length;
            if (bytes > kMaxBytes) return fail(Code::kLimit, fmt::format("it has more than {} GB", kMaxBytes >> 30));
            fragments.push_back(std::move(part));
        }
    return net::make_mp4_clip(inits, std::move(fragments));
}

}  // namespace service::hls
