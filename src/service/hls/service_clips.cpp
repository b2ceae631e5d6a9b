// The part of the service that serves clips through the API.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "net/http/opened_files.h"
#include "net/http/representation.h"
#include "protocol/http/attachment.h"
#include "protocol/http/date.h"
#include "protocol/http/timestamp.h"
#include "service/api_answer.h"
#include "service/hls/service.h"

namespace service::hls {

namespace {

int status_of(base::Code code) {
    switch (code) {
        case base::Code::kNotFound:
            return 404;
        case base::Code::kRefused:
            return 409;
        case base::Code::kLimit:
            return 400;
        case base::Code::kProtocol:
            return 500;
        default:
            return 503;
    }
}

struct StartedClip {
    net::Mp4Clip clip;
    int64_t start_ms;
    std::string etag;
};

// The same segments are the same file, whichever times were asked for. Their paths may be those of an earlier run, but
// not at that time.
std::string etag_of(const ClipPaths& paths, uint64_t bytes) {
    std::string names;
    for (const auto& all : {paths.inits, paths.segments})
        for (const std::string& path : all) names.append(path).append("\n");
    return fmt::format("\"{:x}-{:x}-{:x}\"", paths.start_ms, bytes, std::hash<std::string>()(names));
}

// Of the whole file.
net::FileParts part_of(const net::FileParts& parts, const http::ByteRange& range) {
    net::FileParts out;
    uint64_t at = 0;
    for (const net::FilePart& part : parts) {
        const uint64_t first = std::max(at, range.first), end = std::min(at + part.length, range.first + range.length);
        if (first < end) {
            out.push_back(part);
            out.back().offset += first - at;
            out.back().length = end - first;
        }
        at += part.length;
    }
    return out;
}

// What is not there any more when it yields is held.
base::Result<StartedClip> make_clip(const Output& output, const http::TimeRange& range, const net::Resources& resources,
                                    net::OpenedFiles& files) {
    const ClipPaths paths = TRY(output.clip(range));
    const ClipSource source = TRY(ClipSource::find(paths, resources, output.key().vhost));
    net::Mp4Clip clip = TRY(source.make(files));
    std::string etag = etag_of(paths, clip.bytes);
    return StartedClip{std::move(clip), paths.start_ms, std::move(etag)};
}

}  // namespace

// Clips are content, as recordings are.
net::ApiEndpoint Service::clip_row(const Identity& identity) {
    net::ApiEndpoint row;
    row.pattern = "/api/v1/streams/{id}/clip";
    row.summary = "what the stream's HLS has between two times, as an MP4 file";
    row.access = net::ApiAccess::kPrivileged;
    row.content_type = "video/mp4";
    row.parameters = {
        {.name = "from", .doc = "RFC 3339, seconds since 1970, or, negative, seconds before now", .required = true},
        {.name = "to", .doc = "likewise; now unless given"}};
    row.failures = {{404, "the stream has no HLS, or no segment of that time any more"},
                    {409, "its segments are not MP4, or encrypted"},
                    {500, "a segment is damaged"},
                    {503, "too many clips are sent"}};
    row.handler = [this, &identity](net::HttpRequest& request, net::HttpResponse& response) {
        return clip(identity, request, response);
    };
    return row;
}

base::Result<void> Service::clip(const Identity& identity, const net::HttpRequest& request,
                                 net::HttpResponse& response) {
    const auto range = http::time_range(request.message.parameters, base::wall_ms());
    if (!range) return send_failure(response, identity, 400, range.error().text());
    const auto found = std::ranges::find_if(
        outputs_, [&](const auto& entry) { return net::stream_id(entry.second->key()) == request.capture("id"); });
    if (found == outputs_.end()) return send_failure(response, identity, 404, "there is no HLS of such a stream");
    const auto share = clips_.take(request.peer_ip, 0);
    if (!share) {
        response.header("Retry-After", "5");
        return send_failure(response, identity, 503, share.error().text());
    }
    const std::string name = found->second->key().name;
    auto made = make_clip(*found->second, *range, resources_, response.opened_files());
    if (!made && made.error().code() == base::Code::kCancelled) return std::unexpected(std::move(made.error()));
    if (!made) return send_failure(response, identity, status_of(made.error().code()), made.error().text());
    const std::string start = http::format_timestamp(made->start_ms);
    const int64_t duration_ms = made->clip.duration_ms;
    const int64_t end_s = (made->start_ms + duration_ms) / 1'000;
    const std::string modified = http::format_date(end_s);
    const net::Representation what{made->clip.bytes, {made->etag, end_s}, modified};
    response.header("Cache-Control", "private, no-store");
    if (!TRY(net::check_conditions(what, request, response))) return {};
    response.header("X-Content-Type-Options", "nosniff")
        .header("Content-Disposition", http::attachment(fmt::format("{}.{}.mp4", name, start)))
        .header("X-Clip-Start", start)
        .header("X-Clip-Duration", fmt::format("{}.{:03}", duration_ms / 1'000, duration_ms % 1'000));
    return net::send_wanted(what, "video/mp4", request, response,
                            [&](const http::ByteRange& wanted) { return part_of(made->clip.parts, wanted); });
}

}  // namespace service::hls
