#include "service/hls/dash/growing.h"

#include <algorithm>
#include <vector>

#include "protocol/http/mime.h"
#include "runtime/loop/coroutine.h"

namespace service::hls {

namespace {

constexpr size_t kBytesAtOnce = 64 * 1024;

base::Result<void> await_change(Growing& segment, const runtime::Deadline& deadline, net::HttpResponse& response) {
    const runtime::EndWatch watch(response.client());
    return segment.changed.wait_next(deadline);
}

// From `sent` on. The resource is a copy: the segment grows meanwhile.
base::Result<void> send(const Resource resource, uint64_t sent, net::HttpResponse& response) {
    if (!resource.pages) return {};
    std::vector<uint8_t> buffer(std::min<uint64_t>(kBytesAtOnce, resource.size - sent));
    for (const auto& part : resource.parts(sent, resource.size - sent)) {
        for (uint64_t done = 0; done < part.length;) {
            const std::span<uint8_t> room(buffer.data(), std::min<uint64_t>(buffer.size(), part.length - done));
            const size_t n = part.source->read_now(room, part.offset + done);
            if (n == 0) return base::fail(base::Code::kSystem, "bytes in memory cannot be read");
            TRY(response.write(room.first(n)));
            done += n;
        }
    }
    return {};
}

}  // namespace

base::Result<bool> await_bytes(const std::shared_ptr<Growing>& segment, int64_t limit_ms, net::HttpResponse& response) {
    const auto deadline = runtime::Deadline::in_ms(limit_ms);
    while (segment->resource.size == 0 && !segment->is_complete && !segment->is_lost) {
        auto changed = await_change(*segment, deadline, response);
        if (!changed && changed.error().code() == base::Code::kTimeout) return false;
        TRY(std::move(changed));
    }
    return !segment->is_lost;
}

base::Result<void> serve_growing(const std::shared_ptr<Growing>& segment, const std::string& path, int64_t limit_ms,
                                 bool is_private, const net::HttpRequest& request, net::HttpResponse& response) {
    response.header("Cache-Control", segment->resource.cache_control(is_private));
    if (request.is_head()) return response.send_head(200, http::mime_type(path));
    TRY(response.begin(200, http::mime_type(path), std::nullopt));
    for (uint64_t sent = 0;;) {
        const uint64_t size = segment->resource.size;
        TRY(send(segment->resource, sent, response));
        sent = size;
        if (segment->resource.size > sent) continue;
        if (segment->is_complete) return response.end();
        if (segment->is_lost) return base::fail(base::Code::kOther, "the segment is lost");
        TRY(await_change(*segment, runtime::Deadline::in_ms(limit_ms), response));
    }
}

}  // namespace service::hls
