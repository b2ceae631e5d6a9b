#include "net/http/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "net/http/answers.h"
#include "net/http/numbered_resources.h"
#include "protocol/http/date.h"
#include "protocol/http/mime.h"

namespace net {

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
AnswerPtr answer_of(const Resource& resource, std::string_view path, bool is_private) {
    AnswerFields fields = {{"Cache-Control", resource.cache_control(is_private)},
                           {"ETag", resource.etag},
                           {"Last-Modified", resource.last_modified},
                           {"Accept-Ranges", "bytes"}};
    return std::make_shared<PreparedAnswer>(200, std::string(http::mime_type(path)), std::move(fields),
                                            bytes_of(resource));
}

}  // namespace

void append_range(std::vector<PageRange>& ranges, const PageRange& range) {
    if (!ranges.empty() && ranges.back().offset + ranges.back().length == range.offset)
        ranges.back().length += range.length;
    else
        ranges.push_back(range);
}

// ---- A resource

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

// ---- What is announced

void Announced::come(const ResourcePtr& resource, std::string_view path, DeferredWaker& waker) {
    if (!waiting.empty()) waker.answer(waiting, answer_of(*resource, path, is_private));
    whole = resource;
    is_over = true;
    changed.pulse();
}

void Announced::grow(Resource more) {
    so_far = std::move(more);
    changed.pulse();
}

void Announced::withdraw(DeferredWaker& waker) {
    if (!waiting.empty()) waker.answer(waiting, error_answer(404, "it does not come"));
    is_over = true;
    changed.pulse();
}

void Resources::announce(const std::string& vhost, const std::string& path,
                         std::shared_ptr<const base::StreamKey> stream, int64_t limit_ms) {
    auto& announced = table_->announced[key(vhost, path)];
    if (!announced) announced = std::make_shared<Announced>();
    announced->stream = std::move(stream);
    announced->limit_ms = limit_ms;
    announced->grows = true;
}

std::shared_ptr<Announced> Resources::take_announced(const std::string& key) {
    const auto taken = table_->announced.extract(key);
    return taken ? taken.mapped() : nullptr;
}

void Resources::grow(const std::string& vhost, const std::string& path, Resource so_far) {
    const auto it = table_->announced.find(key(vhost, path));
    if (it != table_->announced.end()) it->second->grow(std::move(so_far));
}

void Resources::withdraw(const std::string& vhost, const std::string& path) {
    if (const auto announced = take_announced(key(vhost, path))) announced->withdraw(waker());
}

bool Resources::is_awaited(std::string_view vhost, std::string_view path) const {
    const auto it = table_->announced.find(key(vhost, path));
    return it != table_->announced.end() && it->second->is_awaited();
}

std::shared_ptr<Announced> Resources::announced(std::string_view vhost, std::string_view path) const {
    if (const auto it = table_->announced.find(key(vhost, path)); it != table_->announced.end()) return it->second;
    const Found found = find_numbered(vhost, path);
    return found.among ? found.among->announced(found.number) : nullptr;
}

// ---- What is there

// Null: such numbers are none of ours, or its path is not written as ours are.
Resources::Found Resources::find_numbered(std::string_view vhost, std::string_view path) const {
    const size_t end = std::min(path.rfind('.'), path.size());
    size_t begin = end;
    while (begin > 0 && path[begin - 1] >= '0' && path[begin - 1] <= '9') --begin;
    Found found;
    if (begin == end || (path[begin] == '0' && end - begin > 1)) return found;
    const char* const last = path.data() + end;
    if (std::from_chars(path.data() + begin, last, found.number).ec != std::errc()) return found;
    const auto it = table_->numbered.find(key(vhost, path.substr(0, begin), path.substr(end)));
    if (it != table_->numbered.end()) found.among = it->second;
    return found;
}

ResourcePtr Resources::find(std::string_view vhost, std::string_view path) const {
    if (const auto it = table_->entries.find(key(vhost, path)); it != table_->entries.end()) return it->second;
    const Found found = find_numbered(vhost, path);
    return found.among ? found.among->find(found.number) : nullptr;
}

ResourcePtr Resources::name(Resource resource) {
    resource.number = ++table_->count;
    resource.etag = fmt::format("\"{:x}-{:x}\"", resource.made_ms, resource.number);
    resource.last_modified = http::format_date(resource.made_ms / 1000);
    return std::make_shared<const Resource>(std::move(resource));
}

void Resources::put(const std::string& vhost, const std::string& path, Resource resource) {
    const ResourcePtr named = name(std::move(resource));
    table_->entries[key(vhost, path)] = named;
    if (const auto announced = take_announced(key(vhost, path))) announced->come(named, path, waker());
}

}  // namespace net
