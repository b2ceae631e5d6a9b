#include "service/hls/serving/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "protocol/http/date.h"

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

// Null: such numbers are none of ours, or its path is not written as ours are.
Index::Found Index::find_numbered(std::string_view vhost, std::string_view path) const {
    const size_t end = std::min(path.rfind('.'), path.size());
    size_t begin = end;
    while (begin > 0 && path[begin - 1] >= '0' && path[begin - 1] <= '9') --begin;
    Found found;
    if (begin == end || (path[begin] == '0' && end - begin > 1)) return found;
    const char* const last = path.data() + end;
    if (std::from_chars(path.data() + begin, last, found.number).ec != std::errc()) return found;
    const auto it = table_->numbered.find(key(vhost, path.substr(0, begin), path.substr(end)));
    if (it != table_->numbered.end()) found.numbered = it->second;
    return found;
}

ResourcePtr Index::find(std::string_view vhost, std::string_view path) const {
    if (const auto it = table_->entries.find(key(vhost, path)); it != table_->entries.end()) return it->second;
    const Found found = find_numbered(vhost, path);
    return found.numbered ? found.numbered->find(found.number) : nullptr;
}

Index::Announced* Index::announced(std::string_view vhost, std::string_view path) const {
    const Found found = find_numbered(vhost, path);
    return found.numbered ? found.numbered->announced(found.number) : nullptr;
}

ResourcePtr Index::name(Resource resource) {
    resource.number = ++table_->count;
    resource.etag = fmt::format("\"{:x}-{:x}\"", resource.made_ms, resource.number);
    resource.last_modified = http::format_date(resource.made_ms / 1000);
    return std::make_shared<const Resource>(std::move(resource));
}

void Index::put(const std::string& vhost, const std::string& path, Resource resource) {
    ResourcePtr named = name(std::move(resource));
    table_->entries[key(vhost, path)] = std::move(named);
}

}  // namespace service::hls
