#include "service/hls/serving/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "protocol/http/date.h"
#include "protocol/http/mime.h"
#include "service/hls/serving/serve.h"

namespace service::hls {

void Resource::keep(std::span<const uint8_t> bytes) {
    pages = std::make_shared<runtime::disk::PagedBytes>();
    size = pages->append(bytes) ? bytes.size() : 0;
}

// A key is for admitted viewers only, so it must not be cached.
std::string Resource::cache_control(bool is_private) const {
    if (max_age_s <= 0) return "no-store";
    return fmt::format("{}, max-age={}", is_private ? "private" : "public", max_age_s);
}

std::vector<runtime::disk::PagedBytes::Part> Resource::parts(uint64_t first, uint64_t length) const {
    if (ranges.empty()) return pages->parts(first, length);
    std::vector<runtime::disk::PagedBytes::Part> out;
    for (const PageRange& range : ranges) {
        if (length == 0) break;
        const uint64_t skipped = std::min(first, range.length), n = std::min(length, range.length - skipped);
        first -= skipped;
        length -= n;
        std::ranges::move(pages->parts(range.offset + skipped, n), std::back_inserter(out));
    }
    return out;
}

namespace {

// Of a resource in memory.
std::string bytes_of(const Resource& resource) {
    std::string bytes;
    bytes.reserve(resource.size);
    for (const auto& part : resource.parts(0, resource.size)) {
        const size_t begin = bytes.size();
        bytes.resize(begin + part.length);
        const std::span<uint8_t> room(reinterpret_cast<uint8_t*>(bytes.data()) + begin, part.length);
        for (size_t done = 0, n = 1; n > 0 && done < room.size(); done += n)
            n = part.source->read_now(room.subspan(done), part.offset + done);
    }
    return bytes;
}

// For those who waited for it, whole: a range of what a client does not know yet may be ignored (RFC 9110, 14.2).
net::AnswerPtr answer_of(const Resource& resource, const std::string& path, bool is_private) {
    net::AnswerFields fields = {{"Cache-Control", resource.cache_control(is_private)},
                                {"ETag", resource.etag},
                                {"Last-Modified", resource.last_modified},
                                {"Accept-Ranges", "bytes"}};
    return std::make_shared<net::PreparedAnswer>(200, std::string(http::mime_type(path)), std::move(fields),
                                                 bytes_of(resource));
}

}  // namespace

void Index::put(const std::string& vhost, const std::string& path, Resource resource) {
    resource.number = ++table_->count;
    resource.etag = fmt::format("\"{:x}-{:x}\"", resource.made_ms, resource.number);
    resource.last_modified = http::format_date(resource.made_ms / 1000);
    const std::string name = key(vhost, path);
    if (const auto it = table_->announced.find(name); it != table_->announced.end()) {
        net::DeferredList& waiting = it->second.waiting;
        if (!waiting.empty()) waker().answer(waiting, answer_of(resource, path, it->second.is_private));
        table_->announced.erase(it);
    }
    table_->entries[name] = std::make_shared<const Resource>(std::move(resource));
}

void Index::announce(const std::string& vhost, const std::string& path, std::shared_ptr<const live::StreamKey> stream,
                     int64_t limit_ms) {
    Announced& part = table_->announced[key(vhost, path)];
    part.stream = std::move(stream);
    part.limit_ms = limit_ms;
}

void Index::withdraw(const std::string& vhost, const std::string& path) {
    const auto it = table_->announced.find(key(vhost, path));
    if (it == table_->announced.end()) return;
    waker().answer(it->second.waiting, error_answer(404, "there is no such part"));
    table_->announced.erase(it);
}

}  // namespace service::hls
