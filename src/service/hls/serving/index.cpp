#include "service/hls/serving/index.h"

#include <fmt/format.h>

#include "protocol/http/date.h"

namespace service::hls {

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
