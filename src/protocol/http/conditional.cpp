#include "protocol/http/conditional.h"

#include "protocol/http/date.h"

namespace http {

namespace {

// Whether the list contains the ETag. weak: W/"x" equals "x".
bool list_has_etag(std::string_view list, std::string_view etag, bool weak) {
    if (trim(list) == "*") return true;
    while (!list.empty()) {
        size_t comma = list.find(',');
        std::string_view entry = trim(list.substr(0, comma));
        if (weak && entry.starts_with("W/")) entry.remove_prefix(2);
        if (entry == etag) return true;
        if (comma == std::string_view::npos) return false;
        list.remove_prefix(comma + 1);
    }
    return false;
}

}  // namespace

bool not_modified(const Headers& request, const Validators& validators) {
    if (auto list = request.find("If-None-Match")) return list_has_etag(*list, validators.etag, true);
    auto since = request.find("If-Modified-Since");
    if (!since) return false;
    auto date = parse_date(*since);
    return date && validators.modified_seconds <= *date;
}

bool precondition_failed(const Headers& request, const Validators& validators) {
    if (auto list = request.find("If-Match")) return !list_has_etag(*list, validators.etag, false);
    auto since = request.find("If-Unmodified-Since");
    if (!since) return false;
    auto date = parse_date(*since);
    return date && validators.modified_seconds > *date;
}

bool range_applies(const Headers& request, const Validators& validators) {
    auto condition = request.find("If-Range");
    if (!condition) return true;
    if (condition->starts_with('"')) return *condition == validators.etag;
    auto date = parse_date(*condition);
    return date && *date == validators.modified_seconds;
}

}  // namespace http
