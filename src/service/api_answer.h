#pragma once
// What the JSON answers of all endpoints of the API have in common: code (0: success), server, service, pid, errors,
// and the page of a list that ?start= and ?count= select. Shapes: INTERFACE.md, "HTTP API".

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "net/http/api_endpoint.h"
#include "net/http/http_exchange.h"
#include "service/identity.h"

namespace service {

// Fields keep the order in which they were added.
nlohmann::ordered_json envelope(const Identity& identity, int code = 0);

base::Result<void> send_json(net::HttpResponse& response, const nlohmann::ordered_json& body, int status = 200);
// A successful answer: the envelope, and behind it the fields of an object.
base::Result<void> send_fields(net::HttpResponse& response, const Identity& identity, nlohmann::ordered_json fields);
// code is the status, and the text says why.
nlohmann::ordered_json failure(const Identity& identity, int status, std::string_view text);
base::Result<void> send_failure(net::HttpResponse& response, const Identity& identity, int status,
                                std::string_view text);

// A numeric parameter within bounds; `initial` if it is absent, nothing if it is invalid.
std::optional<int64_t> number_parameter(const net::HttpRequest& request, std::string_view name, int64_t initial,
                                        int64_t min, int64_t max);

struct Page {
    static constexpr int64_t kMaxStart = INT32_MAX;
    static constexpr int64_t kMaxCount = 10'000, kCount = 10;
    size_t start = 0;
    size_t count = kCount;
    bool has(size_t index) const { return index >= start && index - start < count; }
};
// As SRS reads it, by the digits that a text begins with: without a positive number `count` entries from the first one
// on, and at most kMaxCount.
Page page_of(const net::HttpRequest& request, int64_t count = Page::kCount);
// The parameters' entries for the row.
std::vector<net::ApiParameter> page_parameters(int64_t count = Page::kCount);

}  // namespace service
