#include "service/hls/serving/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "protocol/http/date.h"

namespace service::hls {

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

void Index::put(const std::string& vhost, const std::string& path, Resource resource) {
    resource.number = ++table_->count;
    resource.etag = fmt::format("\"{:x}-{:x}\"", resource.made_ms, resource.number);
    resource.last_modified = http::format_date(resource.made_ms / 1000);
    // A key is for admitted viewers only, so it must not be cached.
    resource.cache_control =
        resource.max_age_s > 0 ? fmt::format("public, max-age={}", resource.max_age_s) : std::string("no-store");
    table_->entries[key(vhost, path)] = std::make_shared<const Resource>(std::move(resource));
}

}  // namespace service::hls
