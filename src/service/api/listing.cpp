#include "service/api/listing.h"

#include <fmt/format.h>

namespace service::api {

base::Result<std::optional<Page>> page_of(const net::HttpRequest& request, net::HttpResponse& response,
                                          const Identity& identity) {
    const auto start = number_parameter(request, "start", 0, 0, Page::kMostStart);
    const auto count = number_parameter(request, "count", 10, 1, Page::kMostCount);
    if (start && count) return Page{static_cast<size_t>(*start), static_cast<size_t>(*count)};
    TRY(send_failure(response, identity, 400,
                     fmt::format("start is a whole number from 0 on, count one from 1 to {}", Page::kMostCount)));
    return std::optional<Page>();
}

std::vector<Parameter> page_parameters() {
    using enum Parameter::In;
    using enum Parameter::Type;
    return {{kQuery, "start", kInteger, "how many to pass over", 0, Page::kMostStart, 0},
            {kQuery, "count", kInteger, "how many at most", 1, Page::kMostCount, 10}};
}

ListWriter::ListWriter(const Identity& identity, std::string_view name) : text_(to_text(envelope(identity))) {
    text_.pop_back();
    text_ += fmt::format(",\"{}\":[", name);
}

base::Result<void> ListWriter::add(const Json& item) {
    if (!text_.ends_with('[')) text_ += ',';
    text_ += to_text(item);
    return next();
}

base::Result<void> ListWriter::send(net::HttpResponse& response, size_t total) {
    text_ += fmt::format("],\"total\":{}}}", total);
    return response.send(200, "application/json", text_);
}

}  // namespace service::api
