#include "net/http/serve_resource.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "net/http/answers.h"
#include "net/http/http_visitor.h"
#include "net/http/representation.h"
#include "net/http/static_files.h"
#include "protocol/http/mime.h"
#include "runtime/loop/coroutine.h"

namespace net {

namespace {

constexpr size_t kBytesAtOnce = 64 * 1024;

base::Result<void> serve_memory(const ResourcePtr& resource, std::string_view type, const HttpRequest& request,
                                HttpResponse& response) {
    const Representation what{resource->size, {resource->etag, resource->made_ms / 1000}, resource->last_modified};
    if (!TRY(check_conditions(what, request, response))) return {};
    return send_wanted(what, type, request, response, [&](const http::ByteRange& range) {
        if (range.length == resource->size && !request.is_head() && resource->is_final) resource->pages->count_reader();
        FileParts parts;
        for (auto& part : resource->parts(range.first, range.length))
            parts.push_back({std::move(part.source), part.offset, part.length});
        return parts;
    });
}

base::Result<void> await_change(Announced& growing, const runtime::Deadline& deadline, const HttpResponse& response) {
    const runtime::EndWatch watch(response.client());
    return growing.changed.wait_next(deadline);
}

// Waits until it has bytes; false: it has none within its time, or it is withdrawn.
base::Result<bool> await_bytes(Announced& growing, const HttpResponse& response) {
    const auto deadline = runtime::Deadline::in_ms(growing.limit_ms);
    while (growing.so_far.size == 0 && !growing.is_over) {
        auto changed = await_change(growing, deadline, response);
        if (!changed && changed.error().code() == base::Code::kTimeout) return false;
        TRY(std::move(changed));
    }
    return !growing.is_over || growing.whole;
}

// From `sent` on. The resource is a copy: what is announced grows meanwhile.
base::Result<void> send(const Resource resource, uint64_t sent, HttpResponse& response) {
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

base::Result<void> send_while_it_grows(Announced& growing, HttpResponse& response) {
    for (uint64_t sent = 0;;) {
        const Resource& known = growing.whole ? *growing.whole : growing.so_far;
        const uint64_t size = known.size;
        const bool is_over = growing.is_over;
        if (size > sent) TRY(send(known, sent, response));
        if (is_over && growing.whole && growing.whole->root.empty()) return response.end();
        if (is_over) return base::fail(base::Code::kOther, "its end is lost");
        sent = size;
        if (growing.so_far.size > sent || growing.is_over) continue;
        TRY(await_change(growing, runtime::Deadline::in_ms(growing.limit_ms), response));
    }
}

// It is known to be awaited.
class ClientOf {
  public:
    explicit ClientOf(Announced& growing) : growing_(growing) { ++growing_.clients; }
    ~ClientOf() { --growing_.clients; }
    ClientOf(const ClientOf&) = delete;

  private:
    Announced& growing_;
};

base::Result<void> serve_growing(Announced& growing, const std::string& path, bool is_private,
                                 const HttpRequest& request, HttpResponse& response) {
    auto share = response.reserve_wait();
    if (!share) return send_refusal(std::move(share.error()), response);
    const ClientOf client(growing);
    if (!TRY(await_bytes(growing, response))) return send_answer(*error_answer(404, "it does not come"), response);
    if (growing.whole) return serve_resource(growing.whole, path, is_private, request, response);
    response.header("Cache-Control", growing.so_far.cache_control(is_private));
    if (request.is_head()) return response.send_head(200, http::mime_type(path));
    TRY(response.begin(200, http::mime_type(path), std::nullopt));
    return send_while_it_grows(growing, response);
}

}  // namespace

base::Result<void> serve_resource(const ResourcePtr& resource, const std::string& path, bool is_private,
                                  const HttpRequest& request, HttpResponse& response) {
    response.header("Cache-Control", resource->cache_control(is_private));
    if (resource->root.empty()) return serve_memory(resource, http::mime_type(path), request, response);
    return StaticFiles(resource->root).serve(path, request, response);
}

base::Result<void> serve_announced(const std::shared_ptr<Announced>& announced, const std::string& path,
                                   bool is_private, const HttpRequest& request, HttpResponse& response) {
    if (announced->grows) return serve_growing(*announced, path, is_private, request, response);
    auto awaiting = std::make_unique<AwaitingRequest>();
    announced->is_private |= is_private;
    announced->waiting.add(*awaiting);
    return defer_or_refuse(std::move(awaiting), announced->limit_ms, response);
}

}  // namespace net
